//! Memory and processor time of processes, from `/proc`.

use std::fs::read_to_string;
use std::ops::Sub;

/// Processor seconds so far, or between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    pub server: f64,
    pub generator: f64,
    /// Everything else on the machine: a database server, or a disturbance.
    pub elsewhere: f64,
}

impl Cpu {
    pub fn so_far(server: Option<u32>) -> Self {
        let server = server.map_or(0.0, |pid| process_seconds(&pid.to_string()));
        let generator = process_seconds("self");
        Cpu { server, generator, elsewhere: machine_seconds() - server - generator }
    }
}

impl Sub for Cpu {
    type Output = Cpu;

    fn sub(self, earlier: Cpu) -> Cpu {
        Cpu {
            server: self.server - earlier.server,
            generator: self.generator - earlier.generator,
            // The counters are read one after the other and tick in hundredths.
            elsewhere: (self.elsewhere - earlier.elsewhere).max(0.0),
        }
    }
}

/// Processor seconds so far of a database server: the first of the processes and its children, those included
/// that have ended.
pub fn database_seconds(processes: &[u32]) -> f64 {
    let stat = |pid: &u32| read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let running: u64 = processes.iter().filter_map(|pid| parse_process(&stat(pid))).sum();
    let ended = processes.first().and_then(|pid| parse_ended_children(&stat(pid)));
    seconds(running + ended.unwrap_or(0))
}

/// Resident memory in bytes; 0 when there is no such process.
pub fn resident_bytes(pid: u32) -> u64 {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    parse_kilobytes(&status, "VmRSS:").unwrap_or(0) * 1024
}

/// The most resident memory so far, in bytes.
pub fn peak_bytes(pid: u32) -> u64 {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    parse_kilobytes(&status, "VmHWM:").unwrap_or(0) * 1024
}

fn parse_kilobytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn process_seconds(process: &str) -> f64 {
    let stat = read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    seconds(parse_process(&stat).unwrap_or(0))
}

/// Ticks in user and system mode: the 12th and 13th field after the name, which may hold anything.
fn parse_process(stat: &str) -> Option<u64> {
    sum_of_two(stat, 11)
}

/// The same of children that have ended.
fn parse_ended_children(stat: &str) -> Option<u64> {
    sum_of_two(stat, 13)
}

fn sum_of_two(stat: &str, first: usize) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    Some(fields.get(first)?.parse::<u64>().ok()? + fields.get(first + 1)?.parse::<u64>().ok()?)
}

fn machine_seconds() -> f64 {
    let stat = read_to_string("/proc/stat").unwrap_or_default();
    seconds(parse_machine(&stat).unwrap_or(0))
}

/// Ticks of all processors, without the idle ones: user, nice, system, irq, softirq, steal.
fn parse_machine(stat: &str) -> Option<u64> {
    let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks = ticks.map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    Some([0, 1, 2, 5, 6, 7].iter().filter_map(|field| ticks.get(*field)).sum())
}

#[expect(clippy::cast_precision_loss, reason = "ticks of a machine's life fit a float")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_a_name_with_spaces_and_parentheses() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 7 7 20 0 9 0 1 1 1";
        assert_eq!((parse_process(stat), parse_ended_children(stat)), (Some(300), Some(14)));
    }

    #[test]
    fn waiting_is_not_counted_as_work() {
        let stat = "cpu  10 20 30 1000 2000 40 50 60 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse_machine(stat), Some(10 + 20 + 30 + 40 + 50 + 60));
    }

    #[test]
    fn this_process_has_memory_and_uses_the_processor() {
        assert!(resident_bytes(std::process::id()) > 0);
        assert_eq!(parse_kilobytes("VmHWM:\t 9 kB\nVmRSS:\t    2048 kB\n", "VmRSS:"), Some(2048));
    }
}
