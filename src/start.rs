//! Starting a server: the data directory and its lock, the secret, the database and its schema. Each error is
//! one line that says what is wrong.

mod before_upgrade;
mod sealed_secrets;

pub use before_upgrade::copy_before_migration;
pub use sealed_secrets::renew_secrets;

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

/// The backlog of the listener.
const BACKLOG: u32 = 1024;
const SECRET: &str = "secret_key";

/// Binds the address without accepting connections yet.
pub fn reserve_address(address: SocketAddr) -> Result<TcpSocket, String> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let reserved = socket.and_then(|socket| {
        // SO_REUSEADDR: connections of the last server may still be closing.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    });
    reserved.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "TOWNHALL_LISTEN: another program listens on {address}: end it, or choose another address with --listen"
        ),
        _ => format!("TOWNHALL_LISTEN: cannot listen on {address}: {error}"),
    })
}

/// Starts to listen, and returns the address: the system may have chosen the port.
pub fn listen(socket: TcpSocket, address: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let opened = socket.listen(BACKLOG).and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    opened.map_err(|error| format!("TOWNHALL_LISTEN: cannot listen on {address}: {error}"))
}

pub fn prepare_data_dir(config: &Config) -> Result<(), String> {
    let directory = &config.data_dir;
    // Readable by the owner only: it holds password hashes and mailed links.
    make_directories(directory).map_err(|error| {
        format!("the data directory {} cannot be made: {error}", directory.display())
    })?;
    if !is_writable(directory) {
        return Err(format!("the data directory {} is not writable", directory.display()));
    }
    Ok(())
}

/// The storage is created only at the first start. If it was lost, the server runs, but refuses uploads until
/// it is back.
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

/// Held while a server runs on a data directory; the system releases it when the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its lock, not for its content")] File);

pub fn lock_data_dir(config: &Config) -> Result<Lock, String> {
    lock_directory(&config.data_dir)
}

pub fn lock_directory(directory: &Path) -> Result<Lock, String> {
    lock_file(&directory.join("lock"))?.ok_or_else(|| {
        format!("the data directory {} is in use by another server", directory.display())
    })
}

/// Held by an online copy of a SQLite database, beside a server.
pub fn lock_copying(directory: &Path) -> Result<Lock, String> {
    lock_file(&directory.join("copy.lock"))?
        .ok_or_else(|| format!("the database in {} is being copied already", directory.display()))
}

/// `None` while another process holds it.
fn lock_file(path: &Path) -> Result<Option<Lock>, String> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(file.try_lock().is_ok().then_some(Lock(file)))
}

/// Writes the secret of a restored installation; one that is configured has to be the same.
pub fn install_secret(config: &Config, secret: &[u8]) -> Result<(), String> {
    if let Some(configured) = &config.secret_key {
        return if configured.as_bytes() == secret {
            Ok(())
        } else {
            Err("TOWNHALL_SECRET_KEY is not the secret of the archive".to_owned())
        };
    }
    let path = config.data_dir.join(SECRET);
    let text = std::str::from_utf8(secret).map_err(|error| error.to_string())?;
    create_secret(&path, text).map_err(|error| format!("{}: {error}", path.display()))
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
    // Also after a start that was killed before this step.
    sync_directory(&config.data_dir).map_err(at_path)?;
    remove_copies(&config.data_dir).map_err(at_path)?;
    // A concurrent process may have written one: the file decides.
    let secret = fs::read(&path).map_err(at_path)?;
    if secret.len() < SHORTEST_SECRET {
        return Err(format!("{}: a secret has at least 32 characters", path.display()));
    }
    Ok(secret)
}

/// Written to a temporary file and renamed, so that nobody reads half a secret. The process that has locked
/// the temporary file writes it, and only if there is no secret yet.
fn create_secret(path: &Path, secret: &str) -> io::Result<()> {
    let aside = path.with_extension("new");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&aside);
    let mut file = file?;
    file.lock()?;
    if path.exists() {
        return Ok(());
    }
    // Leftovers of a killed start are useless.
    file.set_len(0)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(secret.as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)
}

/// Temporary files: `secret_key.new`, and from earlier versions `secret_key.4711.new`.
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
        read_url: config.database_read_url.clone(),
        max_lag: config.database_read_lag,
        durable: config.sqlite_durable,
        mmap: config.sqlite_mmap,
        ..Options::default()
    };
    Db::open(&config.database_url, options).map_err(|error| error.to_string())
}

const OTHER_SECRET: &str = "TOWNHALL_SECRET_KEY is not the secret that this database was used with: set that one, \
     set it as TOWNHALL_SECRET_KEY_PREVIOUS, or accept the new one with `townhall secret accept`";

/// Refuses a secret other than the installation's, before the schema is touched. It may be changed while the
/// previous one is still configured.
pub async fn check_secret(db: &Db, secret: &[u8], previous: Option<&str>) -> Result<(), String> {
    let known = [Some(secret), previous.map(str::as_bytes)].map(|one| one.map(Fingerprint::of));
    match db.read(installation::store::kept_secret).await {
        Ok(Some(kept)) if !known.contains(&Some(kept.clone())) => Err(OTHER_SECRET.to_owned()),
        // A schema from before there were fingerprints.
        Ok(_) | Err(db::Error::Missing { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The same, and the first secret becomes that of the installation, as does the one that replaces the previous.
pub async fn claim_secret(db: &Db, secret: &[u8], previous: Option<&str>) -> Result<(), String> {
    let fingerprint = Fingerprint::of(secret);
    let previous = previous.map(|previous| Fingerprint::of(previous.as_bytes()));
    let claimed = db.write(move |tx| {
        if installation::store::claim_secret(tx, &fingerprint)? {
            return Ok(true);
        }
        let is_replaced = installation::store::kept_secret(tx)? == previous && previous.is_some();
        if is_replaced {
            installation::store::replace_secret(tx, &fingerprint)?;
        }
        crate::error::Result::Ok(is_replaced)
    });
    if claimed.await.map_err(|error: crate::error::Error| error.to_string())? {
        return Ok(());
    }
    Err(OTHER_SECRET.to_owned())
}

/// Creates the schema of an empty database. An outdated schema is not migrated here: a command must not
/// change the tables under a running older server.
pub fn migrate_if_new(db: &Db, now: Timestamp) -> Result<(), String> {
    let states = db.migration_status(MIGRATIONS).map_err(|error| error.to_string())?;
    match states.iter().filter(|state| state.applied_at.is_none()).count() {
        pending if pending == 0 || pending == states.len() => migrate(db, now).map(drop),
        _ => Err("the schema is older than this program: townhall migrate up".to_owned()),
    }
}

/// Migrates the schema; returns what was applied.
pub fn migrate(db: &Db, now: Timestamp) -> Result<Vec<u32>, String> {
    db.migrate(MIGRATIONS, now.millis()).map_err(|error| match error {
        db::Error::NewerSchema { found, known } => format!(
            "the database has schema {found}, this program knows {known}: use a newer townhall"
        ),
        other => other.to_string(),
    })
}
