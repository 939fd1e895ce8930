//! The search index: how fast many documents are indexed, how large it is, and how long rare and common words take.

use std::path::Path;

use db::JsonText;
use townhall::app::{self, Dependencies};
use townhall::auth::tokens::Tokens;
use townhall::config::{Config, Flags};
use townhall::features::entities::store::{self as entities, EntityRow, feed_totals};
use townhall::features::entities::terms;
use townhall::features::search::admin;
use townhall::features::search::index;
use townhall::state::App;
use townhall::tenancy::registry;
use townhall::values::ids::{EntityId, SessionId, new_id};
use townhall::values::random::Random;

use crate::alone::{Alone, Latencies, millis};
use crate::clock::{Span, now};
use crate::dice::Dice;
use crate::fixture::text;
use crate::server::{SECRET, send};
use crate::store::Engine;

/// Words of one document, and of all.
const LENGTH: usize = 60;
const VOCABULARY: usize = 100_000;
const BATCH: usize = 1000;
const TOKEN_TTL: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

/// One line of Markdown.
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
    eprintln!("{name}: indexing them");
    let app = application(&alone)?;
    let began = now();
    index::catch_up(&app, alone.project).await.map_err(text)?;
    let took = began.elapsed().as_secs_f64();
    let id = alone.project;
    let project = alone.db.read(move |c| registry::load(c, id)).await.map_err(text)?;
    let project = project.ok_or("the project is gone")?;
    let status = admin::status(&alone.db, &project).await.map_err(text)?;
    let status = status.ok_or("the project is not indexed")?;
    drop(app);
    eprintln!("{name}: searching");
    let queries = [rare(), common()].map(|queries| requests(&alone, queries));
    let measured = alone.measure(program, span, queries.to_vec()).await?;
    let latencies: Vec<String> = measured
        .iter()
        .map(|Latencies { p50, p99 }| format!("{} / {}", millis(*p50), millis(*p99)))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (rate, size) = (status.documents as f64 / took, status.block_bytes as f64 / 1e6);
    alone.db.close().await;
    Ok(format!("| {name} | {count} | {rate:.0} | {size:.1} | {} |\n", latencies.join(" | ")))
}

pub const HEAD: &str = "| engine | documents | indexed/s | postings, MB | rare word, p50 / p99 ms | common words, p50 / p99 ms |\n\
    |---|---|---|---|---|---|\n";

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

fn requests(alone: &Alone, queries: Vec<String>) -> Vec<Vec<u8>> {
    let tokens = Tokens::new(SECRET.as_bytes(), TOKEN_TTL, TOKEN_TTL);
    let token = tokens.access(alone.project, alone.user, SessionId(alone.user.0), alone.now);
    let path = format!("/v8/{}/search/content", alone.project);
    let body = |query: &String| format!(r#"{{"query":"{query}"}}"#);
    queries.iter().map(|query| send("POST", &path, &token, &body(query))).collect()
}
