//! The results: medians of the rounds, as Markdown tables for people and as JSON for machines.

use std::fmt::Write as _;

use serde::Serialize;

use super::median::median;

/// One measurement of the server.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    pub requests_per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Processor time for one request.
    pub server_us: f64,
    /// PostgreSQL: that of its processes.
    pub database_us: Option<f64>,
    pub rss_bytes: f64,
    pub errors: u64,
    pub first_error: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Results {
    pub cores: usize,
    pub connections: usize,
    pub users: usize,
    pub entities: usize,
    pub comments: usize,
    pub seconds: f64,
    pub rounds: u32,
    pub servers: Vec<ServerResults>,
}

#[derive(Debug, Serialize)]
pub struct ServerResults {
    /// Where several programs were measured.
    pub program: Option<String>,
    pub engine: &'static str,
    /// The client that sends the statements without a server.
    pub bare_client: &'static str,
    pub rows: Vec<RowResult>,
    /// The most resident memory of the server: median of the rounds.
    pub peak_rss_bytes: f64,
    pub peak_rss_goal_bytes: f64,
}

#[derive(Debug, Default, Serialize)]
pub struct RowResult {
    pub work: &'static str,
    pub scenario: Option<&'static str>,
    pub requests_per_second: f64,
    /// Of each round.
    pub rounds: Vec<f64>,
    pub goal: Option<f64>,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub server_us_per_request: f64,
    pub database_us_per_request: Option<f64>,
    pub rss_bytes: f64,
    pub statements_per_request: Option<f64>,
    pub flights_per_request: Option<f64>,
    /// The same statements without a server in front of them.
    pub bare_client_per_second: Option<f64>,
    /// Why the bare client has no rate.
    pub bare_client_error: Option<String>,
    pub errors: u64,
    pub first_error: Option<String>,
}

impl RowResult {
    /// The medians of the rounds.
    pub fn new(work: &'static str, scenario: Option<&'static str>, samples: &[Sample]) -> Self {
        let of = |value: fn(&Sample) -> f64| {
            median(&samples.iter().map(value).collect::<Vec<_>>()).unwrap_or_default()
        };
        let database: Vec<f64> = samples.iter().filter_map(|sample| sample.database_us).collect();
        RowResult {
            work,
            scenario,
            requests_per_second: of(|sample| sample.requests_per_second),
            rounds: samples.iter().map(|sample| sample.requests_per_second).collect(),
            p50_ms: of(|sample| sample.p50_ms),
            p99_ms: of(|sample| sample.p99_ms),
            server_us_per_request: of(|sample| sample.server_us),
            database_us_per_request: median(&database),
            rss_bytes: of(|sample| sample.rss_bytes),
            errors: samples.iter().map(|sample| sample.errors).sum(),
            first_error: samples.iter().find_map(|sample| sample.first_error.clone()),
            ..RowResult::default()
        }
    }
}

const HEADINGS: [&str; 12] = [
    "work",
    "req/s",
    "goal",
    "p50 ms",
    "p99 ms",
    "server us/req",
    "database us/req",
    "RSS MiB",
    "statements",
    "flights",
    "bare client/s",
    "of it",
];

impl Results {
    pub fn errors(&self) -> u64 {
        self.servers.iter().flat_map(|server| &server.rows).map(|row| row.errors).sum()
    }

    pub fn table(&self) -> String {
        let mut out = format!(
            "{} cores, {} connections, {} users, {} entities, {} comments, medians of {} rounds of {} s\n",
            self.cores,
            self.connections,
            whole(self.users as f64),
            whole(self.entities as f64),
            whole(self.comments as f64),
            self.rounds,
            self.seconds
        );
        for server in &self.servers {
            let program = server.program.as_ref().map(|program| format!(", {program}"));
            let _ = write!(
                out,
                "\n{}{} (bare client: {})\n\n{}\nRSS under load: {} MiB at most, goal {} MiB\n",
                server.engine,
                program.unwrap_or_default(),
                server.bare_client,
                markdown(&server.lines()),
                whole(mebibytes(server.peak_rss_bytes)),
                whole(mebibytes(server.peak_rss_goal_bytes)),
            );
            for row in &server.rows {
                if let Some(error) = &row.first_error {
                    let _ = writeln!(out, "{}: {} errors: {error}", row.work, row.errors);
                }
                if let Some(error) = &row.bare_client_error {
                    let _ = writeln!(out, "{}: no bare client: {error}", row.work);
                }
            }
        }
        out
    }
}

impl ServerResults {
    fn lines(&self) -> Vec<[String; 12]> {
        let mut lines = vec![HEADINGS.map(str::to_owned)];
        lines.extend(self.rows.iter().map(line));
        lines
    }
}

fn line(row: &RowResult) -> [String; 12] {
    let optional =
        |value: Option<f64>, shown: fn(f64) -> String| value.map_or_else(String::new, shown);
    let share = row.bare_client_per_second.map(|rate| row.requests_per_second / rate);
    [
        row.work.to_owned(),
        whole(row.requests_per_second),
        optional(row.goal, whole),
        format!("{:.2}", row.p50_ms),
        format!("{:.2}", row.p99_ms),
        whole(row.server_us_per_request),
        optional(row.database_us_per_request, whole),
        whole(mebibytes(row.rss_bytes)),
        optional(row.statements_per_request, counted),
        optional(row.flights_per_request, counted),
        optional(row.bare_client_per_second, whole),
        optional(share, |share| format!("{:.0} %", share * 100.0)),
    ]
}

/// A Markdown table whose columns are aligned in the source too: the first to the left, the others to the right.
fn markdown<const N: usize>(lines: &[[String; N]]) -> String {
    let mut widths = [3; N];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            let _ = match column {
                0 => write!(out, "| {cell:<width$} |"),
                _ => write!(out, " {cell:>width$} |"),
            };
        }
        out.push('\n');
        if number == 0 {
            for (column, width) in widths.into_iter().enumerate() {
                let _ = match column {
                    0 => write!(out, "|{}|", "-".repeat(width + 2)),
                    _ => write!(out, "{}:|", "-".repeat(width + 1)),
                };
            }
            out.push('\n');
        }
    }
    out
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

/// With separators between thousands; with one digit after the point below 10.
fn whole(value: f64) -> String {
    if value < 10.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (number, digit) in digits.chars().enumerate() {
        if number > 0 && (digits.len() - number).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A median of counts: whole, or between two.
fn counted(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(requests_per_second: f64) -> Sample {
        Sample {
            requests_per_second,
            p50_ms: 1.0,
            p99_ms: 2.0,
            server_us: 30.0,
            database_us: Some(70.0),
            rss_bytes: f64::from(64 << 20),
            errors: 1,
            first_error: Some("status 500".to_owned()),
        }
    }

    fn results() -> Results {
        let row =
            RowResult::new("fetch", Some("fetch-entity"), &[5.0, 12_000.0, 20_000.0].map(sample));
        let row = RowResult {
            goal: Some(30_000.0),
            statements_per_request: Some(1.0),
            flights_per_request: Some(1.5),
            bare_client_per_second: Some(16_000.0),
            ..row
        };
        let server = ServerResults {
            program: None,
            engine: "postgres",
            bare_client: "as many connections as the server has",
            rows: vec![row],
            peak_rss_bytes: f64::from(70 << 20),
            peak_rss_goal_bytes: f64::from(80 << 20),
        };
        Results {
            cores: 2,
            connections: 32,
            users: 100_000,
            entities: 1_000_000,
            comments: 301_000,
            seconds: 3.0,
            rounds: 3,
            servers: vec![server],
        }
    }

    #[test]
    fn a_row_shows_medians_beside_goal_and_ceiling() {
        let table = results().table();
        let cells = "| fetch | 12,000 | 30,000 |   1.00 |   2.00 |            30 |              70 \
            |      64 |          1 |     1.5 |        16,000 |  75 % |";
        assert!(table.contains(cells), "{table}");
        assert!(table.contains("1,000,000 entities"), "{table}");
        assert!(table.contains("RSS under load: 70 MiB at most, goal 80 MiB"), "{table}");
        assert!(table.contains("fetch: 3 errors: status 500"), "{table}");
    }

    #[test]
    fn the_same_numbers_are_in_the_json() {
        let json = serde_json::to_value(results()).unwrap();
        let row = &json["servers"][0]["rows"][0];
        assert_eq!(row["requests_per_second"], 12_000.0);
        assert_eq!(row["rounds"], serde_json::json!([5.0, 12_000.0, 20_000.0]));
        assert_eq!(row["flights_per_request"], 1.5);
        assert_eq!(row["bare_client_error"], serde_json::Value::Null);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0.0, 2.44, 9.96, 999.6, 12_345.6, 1_000_000.0].map(whole);
        assert_eq!(shown, ["0", "2.4", "10.0", "1,000", "12,346", "1,000,000"]);
    }
}
