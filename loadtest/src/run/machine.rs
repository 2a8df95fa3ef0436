//! The machine of the driver, for the report.

use std::fs;
use std::thread;

/// Returns the name, the system and the processors of this machine.
pub(super) fn describe() -> String {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let name = read("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned());
    let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = read("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, model)| model.to_owned());
    let count = thread::available_parallelism().map_or(0, usize::from);
    let (system, release) = (std::env::consts::OS, release.trim());
    format!("{name}: {count} × {model}, {system} {release}")
}
