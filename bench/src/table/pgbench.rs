//! PostgreSQL's own load generator: how fast the same statements are without a server in front of them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use db::testing::Cluster;

use crate::store::{POOL, Store};

use super::script::Script;

/// Scripts of one scenario, in files, with their weights.
#[derive(Debug)]
pub struct Scripts {
    files: Vec<(PathBuf, usize)>,
}

impl Scripts {
    pub fn write(store: &Store, scenario: &str, scripts: &[Script]) -> Result<Self, String> {
        let mut files = Vec::new();
        for (number, script) in scripts.iter().enumerate() {
            let file = store.directory.join(format!("{scenario}-{number}.sql"));
            std::fs::write(&file, &script.text).map_err(|error| error.to_string())?;
            files.push((file, script.weight));
        }
        Ok(Scripts { files })
    }

    /// Transactions per second, on as many connections as the server has. Blocks.
    pub fn run(
        &self,
        cluster: &Cluster,
        url: &str,
        threads: usize,
        duration: Duration,
    ) -> Result<f64, String> {
        let database = url.rsplit('/').next().unwrap_or_default();
        let mut command = Command::new(db::testing::binaries().join("pgbench"));
        command.args(["-n", "-M", "prepared", "-h", "127.0.0.1", "-U", "postgres"]);
        command.args(["-p", &cluster.port().to_string(), "-T", &duration.as_secs().to_string()]);
        command.args(["-c", &POOL.to_string(), "-j", &threads.to_string()]);
        for (file, weight) in &self.files {
            command.arg("-f").arg(format!("{}@{weight}", file.display()));
        }
        // Statements are planned once: this is a ceiling.
        command.env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan");
        let output = command.arg(database).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("pgbench: {error}"))?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let first = complaint.lines().find(|line| line.contains("error"));
            return Err(format!("pgbench: {}", first.unwrap_or(complaint.trim())));
        }
        parse_rate(&String::from_utf8_lossy(&output.stdout))
            .ok_or_else(|| "pgbench told no rate".to_owned())
    }
}

fn parse_rate(output: &str) -> Option<f64> {
    let rate = output.lines().find_map(|line| line.strip_prefix("tps = "))?;
    rate.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found_in_the_output() {
        let output = "latency average = 4.581 ms\ninitial connection time = 15.368 ms\n\
            tps = 873.089421 (without initial connection time)\n";
        assert_eq!(parse_rate(output), Some(873.089_421));
        assert_eq!(parse_rate("number of clients: 4\n"), None);
    }
}
