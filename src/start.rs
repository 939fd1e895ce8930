//! From nothing to a running server: the data directory and its lock, the secret, the database
//! and its schema. Each refusal is one line that says what is wrong.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use db::{Db, Options};
use tokio::net::{TcpListener, TcpSocket};

use crate::config::{Config, SHORTEST_SECRET, is_writable};
use crate::features::files::store as files;
use crate::installation::{self, Fingerprint};
use crate::schema::MIGRATIONS;
use crate::state::App;
use crate::storage::durable::{make_directories, sync_directory};
use crate::values::random::{Random, hex};
use crate::values::time::Timestamp;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
const SECRET: &str = "secret_key";

/// Takes the address, and answers nobody there yet.
pub fn reserve_address(address: SocketAddr) -> Result<TcpSocket, String> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let reserved = socket.and_then(|socket| {
        // As every listener does: the last server's connections may still be closing.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    });
    reserved.map_err(|error| format!("TOWNHALL_LISTEN: cannot listen on {address}: {error}"))
}

/// Opens the address, and says which it is: the port may have been left to the system.
pub fn listen(socket: TcpSocket, address: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let opened = socket.listen(BACKLOG).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    opened.map_err(|error| format!("TOWNHALL_LISTEN: cannot listen on {address}: {error}"))
}

pub fn prepare_data_dir(config: &Config) -> Result<(), String> {
    let directory = &config.data_dir;
    // What lives here (password hashes, mailed links) is nobody else's.
    make_directories(directory).map_err(|error| {
        format!("the data directory {} cannot be made: {error}", directory.display())
    })?;
    if !is_writable(directory) {
        return Err(format!("the data directory {} is not writable", directory.display()));
    }
    Ok(())
}

/// The storage is made at the first start alone. One that was lost stays lost: the server runs,
/// but refuses uploads until it is back.
pub async fn claim_storage(app: &App) -> Result<(), String> {
    let has_files = app.db.read(files::any).await.map_err(|error| error.to_string())?;
    let storage = &app.config.storage;
    let claimed = app.storage.claim(has_files).await;
    let claimed = claimed.map_err(|error| format!("the storage {storage} cannot be made: {error}"));
    if !claimed? {
        tracing::error!(
            storage,
            "the storage is empty, but the database knows of files: uploads are refused"
        );
    }
    Ok(())
}

/// Held while a server runs on a data directory; the system lets go of it when the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its lock, not for its content")] File);

pub fn lock_data_dir(config: &Config) -> Result<Lock, String> {
    let path = config.data_dir.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
    file.try_lock().map_err(|_| {
        format!("the data directory {} is in use by another server", config.data_dir.display())
    })?;
    Ok(Lock(file))
}

/// The configured secret, or the one generated into the data directory at the first start.
pub fn secret(config: &Config, random: &Random) -> Result<Vec<u8>, String> {
    if let Some(secret) = &config.secret_key {
        return Ok(secret.clone().into_bytes());
    }
    let path = config.data_dir.join(SECRET);
    let at_path = |error: io::Error| format!("{}: {error}", path.display());
    if !path.exists() {
        create_secret(&path, &hex(&random.bytes::<32>())).map_err(at_path)?;
    }
    // Also after a start that was killed before it came to this.
    sync_directory(&config.data_dir).map_err(at_path)?;
    remove_copies(&config.data_dir).map_err(at_path)?;
    // Another process may have been quicker: the file decides.
    let secret = fs::read(&path).map_err(at_path)?;
    if secret.len() < SHORTEST_SECRET {
        return Err(format!("{}: a secret has at least 32 characters", path.display()));
    }
    Ok(secret)
}

/// Written aside and moved into place, so that nobody reads half a secret. Whoever holds the lock on
/// the file aside is the only one to do so, and does it only as long as there is no secret.
fn create_secret(path: &Path, secret: &str) -> io::Result<()> {
    let aside = path.with_extension("new");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&aside);
    let mut file = file?;
    file.lock()?;
    if path.exists() {
        return Ok(());
    }
    // What a start has left that was killed is of no use.
    file.set_len(0)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(secret.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)
}

/// What is left beside the secret: `secret_key.new`, and from earlier versions `secret_key.4711.new`.
fn remove_copies(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if !name.strip_prefix(SECRET).is_some_and(|rest| rest.ends_with(".new")) {
            continue;
        }
        match fs::remove_file(entry.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

pub fn open_database(config: &Config) -> Result<Db, String> {
    let options = Options {
        pool: config.database_pool,
        wait: config.database_wait,
        durable: config.sqlite_durable,
        ..Options::default()
    };
    Db::open(&config.database_url, options).map_err(|error| error.to_string())
}

const OTHER_SECRET: &str = "TOWNHALL_SECRET_KEY is not the secret that this database was used with: set that one, \
     or accept the new one with `townhall secret accept`";

/// Refuses a secret that is not the one the installation signs with, before the schema is touched.
pub async fn check_secret(db: &Db, secret: &[u8]) -> Result<(), String> {
    match db.read(installation::store::kept_secret).await {
        Ok(Some(kept)) if kept != Fingerprint::of(secret) => Err(OTHER_SECRET.to_owned()),
        // A schema from before there were fingerprints.
        Ok(_) | Err(db::Error::Missing { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The same, and the first secret becomes that of the installation.
pub async fn claim_secret(db: &Db, secret: &[u8]) -> Result<(), String> {
    let fingerprint = Fingerprint::of(secret);
    let claimed = db.write(move |tx| installation::store::claim_secret(tx, &fingerprint)).await;
    if claimed.map_err(|error| error.to_string())? {
        return Ok(());
    }
    Err(OTHER_SECRET.to_owned())
}

/// Makes the schema of an empty database. One that is behind is left to the operator of its server:
/// a look at the projects must not change the tables under an older program.
pub fn migrate_if_new(db: &Db, now: Timestamp) -> Result<(), String> {
    let states = db.migration_status(MIGRATIONS).map_err(|error| error.to_string())?;
    match states.iter().filter(|state| state.applied_at.is_none()).count() {
        pending if pending == 0 || pending == states.len() => migrate(db, now).map(drop),
        _ => Err("the schema is older than this program: townhall migrate up".to_owned()),
    }
}

/// Brings the schema up to date; what was applied.
pub fn migrate(db: &Db, now: Timestamp) -> Result<Vec<u32>, String> {
    db.migrate(MIGRATIONS, now.millis()).map_err(|error| match error {
        db::Error::NewerSchema { found, known } => format!(
            "the database has schema {found}, this program knows {known}: use a newer townhall"
        ),
        other => other.to_string(),
    })
}
