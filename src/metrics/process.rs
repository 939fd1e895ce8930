//! Memory, processor time and open files of this process, where the system reports them.

use super::page::Page;

pub(super) fn render(page: &mut Page) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if let Some(kilobytes) = kilobytes {
        page.gauge("process_resident_memory_bytes", "Memory in use.", kilobytes * 1024);
    }
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields after the command's closing parenthesis; 12th and 13th are ticks of 10 ms.
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>());
    let ticks = |at: usize| fields.as_ref()?.get(at)?.parse::<u64>().ok();
    if let (Some(user), Some(system)) = (ticks(11), ticks(12)) {
        let centiseconds = user + system;
        let seconds = format!("{}.{:02}", centiseconds / 100, centiseconds % 100);
        page.counter("process_cpu_seconds_total", "Processor time used.", seconds);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        page.gauge("process_open_fds", "Open file descriptors.", files.count());
    }
}
