//! The search index: how fast many documents are indexed, how large it is, and how long rare and common words take.

use std::path::Path;

use db::{JsonText, Query, args};
use townhall::app::{self, Dependencies};
use townhall::auth::tokens::Tokens;
use townhall::config::{Config, Flags};
use townhall::features::entities::store::{self as entities, EntityRow, feed_totals};
use townhall::features::entities::terms;
use townhall::features::search::admin::{self, IndexStatus};
use townhall::features::search::index;
use townhall::state::App;
use townhall::tenancy::{Project, registry, store as projects};
use townhall::values::ids::{EntityId, SessionId, new_id};
use townhall::values::random::Random;

use crate::alone::{Alone, Latencies, millis};
use crate::clock::{Span, now};
use crate::dice::Dice;
use crate::fixture::text;
use crate::server::{SECRET, get, send};
use crate::store::Engine;

/// Words of one document, and of all.
const LENGTH: usize = 60;
const VOCABULARY: usize = 100_000;
const BATCH: usize = 1000;
const TOKEN_TTL: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

const CALLERS: usize = 32;

/// Two lines of Markdown.
pub async fn measure(
    engine: Engine,
    count: usize,
    program: &Path,
    span: Span,
) -> Result<String, String> {
    let name = engine.name();
    let alone = Alone::create(engine).await?;
    eprintln!("{name}: writing {count} entities");
    seed(&alone, count).await?;
    alone.db.execute_script("{analyze}").map_err(|error| error.to_string())?;
    eprintln!("{name}: indexing them");
    let app = application(&alone)?;
    let (began, cpu) = (now(), alone.cpu_seconds(None));
    index::catch_up(&app, alone.project).await.map_err(text)?;
    let took = began.elapsed().as_secs_f64();
    let cpu = alone.cpu_seconds(None) - cpu;
    drop(app);
    let status = status(&alone).await?;
    let size = size_of_index(&alone, engine).await?;
    eprintln!("{name}: {size:?}");
    let size: i64 = size.iter().map(|(_, size)| size).sum();
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (documents, postings, size) =
        (status.documents as f64, status.block_bytes as f64 / 1e6, size as f64 / 1e6);
    let (rate, cpu) = (documents / took, cpu / documents * 1e6);
    let mut line =
        format!("| {name} | {count} | {rate:.0} | {cpu:.0} | {postings:.0} | {size:.0} |");
    eprintln!("{name}: searching");
    let queries = [rare(), common()].map(|queries| requests(&alone, queries));
    for callers in [1, CALLERS] {
        for found in alone.measure(program, span, callers, queries.to_vec()).await? {
            line += &format!(" {} ({}) |", found.text(), millis(found.cpu));
        }
    }
    line += &others(&alone, program, span).await?;
    alone.db.close().await;
    Ok(line + "\n")
}

pub const HEAD: &str = "| engine | documents | indexed/s | CPU, µs each | postings, MB | index, MB \
    | rare word, 1 caller, p50 / p99 (CPU) ms | common words, 1 caller | rare word, 32 callers | common words, 32 callers \
    | feed | create | feed while indexing | create while indexing | create without search |\n\
    |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// What others notice of the index: the feed and a write while nothing waits, while everything is indexed again, and a write
/// of a project that is not indexed.
async fn others(alone: &Alone, program: &Path, span: Span) -> Result<String, String> {
    let create = |n| format!(r#"{{"title":"{}","content":"{}"}}"#, spelt(n), spelt(n + 1));
    let path = format!("/v8/{}/entities", alone.project);
    let token = token(alone);
    let feed = vec![get(&format!("{path}?sortBy=new"))];
    let create = (0..1000).map(|n| send("POST", &path, &token, &create(n))).collect::<Vec<_>>();
    let mut line = String::new();
    let mut add =
        |found: Vec<Latencies>| found.iter().for_each(|one| line += &format!(" {} |", one.text()));
    eprintln!("beside the index");
    add(alone.measure(program, span, 1, vec![feed.clone(), create.clone()]).await?);
    for list in [feed, create.clone()] {
        admin::reindex(&alone.db, &project(alone).await?).await.map_err(text)?;
        add(alone.measure(program, span, 1, vec![list]).await?);
    }
    let id = alone.project;
    let forgotten = alone.db.write(move |tx| projects::forget_index(tx, id, true));
    forgotten.await.map_err(text)?;
    add(alone.measure(program, span, 1, vec![create]).await?);
    Ok(line)
}

async fn project(alone: &Alone) -> Result<Project, String> {
    let id = alone.project;
    let project = alone.db.read(move |c| registry::load(c, id)).await.map_err(text)?;
    project.ok_or_else(|| "the project is gone".to_owned())
}

async fn status(alone: &Alone) -> Result<IndexStatus, String> {
    let status = admin::status(&alone.db, &project(alone).await?).await.map_err(text)?;
    status.ok_or_else(|| "the project is not indexed".to_owned())
}

/// The bytes of each table of the index, with its indexes.
async fn size_of_index(alone: &Alone, engine: Engine) -> Result<Vec<(String, i64)>, String> {
    let sql = match engine {
        Engine::Sqlite => {
            "SELECT s.tbl_name, sum(d.pgsize) FROM sqlite_schema s JOIN dbstat d ON d.name = s.name
             WHERE d.aggregate = 1 AND s.tbl_name LIKE 'search_%' GROUP BY 1"
        }
        Engine::Postgres => {
            "SELECT CAST(relname AS TEXT), pg_total_relation_size(oid) FROM pg_class
             WHERE relkind = 'r' AND relname LIKE 'search_%'"
        }
    };
    let read = alone.db.read_slow(move |c| {
        let query = Query::<(String, i64)>::built("bench::size_of_index", sql.to_owned());
        c.all(&query, args![]).map_err(townhall::error::Error::from)
    });
    read.await.map_err(text)
}

fn application(alone: &Alone) -> Result<App, String> {
    let directory = alone.store.directory.display().to_string();
    let find = |name: &str| match name {
        "TOWNHALL_DATA_DIR" => Some(directory.clone()),
        "TOWNHALL_DATABASE_URL" => Some(alone.store.url.clone()),
        _ => None,
    };
    let config = Config::from_sources(&Flags::default(), &find)?;
    app::build(config, SECRET.as_bytes(), alone.store.open()?, Dependencies::real())
}

async fn seed(alone: &Alone, count: usize) -> Result<(), String> {
    let (project, author, now) = (alone.project, alone.user, alone.now);
    let mut dice = Dice::new(7);
    for begin in (0..count).step_by(BATCH) {
        let rows: Vec<EntityRow> = (begin..count.min(begin + BATCH))
            .map(|_| EntityRow {
                user_id: Some(author),
                title: Some(words(&mut dice, 6)),
                content: Some(words(&mut dice, LENGTH - 6)),
                keywords: JsonText("[]".to_owned()),
                metadata: JsonText("{}".to_owned()),
                ..EntityRow::blank(EntityId(new_id(now, &Random::System)), now)
            })
            .collect();
        let written = alone.db.write(move |tx| {
            rows.iter().try_for_each(|row| {
                let terms = terms::of_stored(row).map_err(townhall::error::Error::internal)?;
                entities::insert(tx, project, row, &terms)?;
                feed_totals::add(tx, project, row)
            })
        });
        written.await.map_err(text)?;
    }
    Ok(())
}

/// A text whose words are as frequent as those of a language: the second half as often as the first, and so on.
fn words(dice: &mut Dice, count: usize) -> String {
    let word = |_| {
        // The product of two draws favours low ranks about as Zipf's law does.
        let rank = dice.draw(VOCABULARY) * dice.draw(1_000) * dice.draw(1_000) / 1_000_000;
        spelt(rank)
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// A word of its own for each rank, of syllables.
fn spelt(mut rank: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu",
        "cha", "dre", "flo", "gri", "sta",
    ];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES[rank % SYLLABLES.len()]);
        rank /= SYLLABLES.len();
        if rank == 0 {
            return word + "x";
        }
    }
}

/// Words near the end of the vocabulary.
fn rare() -> Vec<String> {
    (0..200).map(|n| spelt(VOCABULARY / 2 + n * 97)).collect()
}

/// Three of the most frequent words each.
fn common() -> Vec<String> {
    (0..100).map(|n| [n % 10, n % 7 + 10, n % 3 + 17].map(spelt).join(" ")).collect()
}

fn token(alone: &Alone) -> String {
    let tokens = Tokens::new(SECRET.as_bytes(), TOKEN_TTL, TOKEN_TTL);
    tokens.access(alone.project, alone.user, SessionId(alone.user.0), alone.now)
}

fn requests(alone: &Alone, queries: Vec<String>) -> Vec<Vec<u8>> {
    let token = token(alone);
    let path = format!("/v8/{}/search/content", alone.project);
    let body = |query: &String| format!(r#"{{"query":"{query}"}}"#);
    queries.iter().map(|query| send("POST", &path, &token, &body(query))).collect()
}
