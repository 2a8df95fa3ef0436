//! Samples of a soak every ten seconds, and the slopes of what must not grow.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use tests::slope::Slope;

use crate::{load::Load, origin_side::Pids, sandbox::BALLAST, since};

const INTERVAL_MS: u64 = 10_000;
/// Share of the samples at the beginning that are left out: caches fill, and leases begin.
const WARM_UP: usize = 5;
const MIB: f64 = 1_048_576.0;

/// A quantity over time: hours since the start, and the value.
pub(crate) type Series = BTreeMap<String, Vec<(f64, f64)>>;

/// What may grow by how much: once for caches that fill, and in each hour.
struct Bound {
    name: &'static str,
    once: f64,
    hourly: f64,
}

/// The bounds of all series. The state holds each event of the page and the log of its webhook for
/// months, which is 3 KiB for a click.
const BOUNDS: [Bound; 12] = [
    Bound { name: "proxy a RSS, MiB", once: 4.0, hourly: 1.0 },
    Bound { name: "proxy b RSS, MiB", once: 4.0, hourly: 1.0 },
    Bound { name: "direct proxy RSS, MiB", once: 4.0, hourly: 1.0 },
    Bound { name: "workerd RSS, MiB", once: 64.0, hourly: 8.0 },
    Bound { name: "miniflare RSS, MiB", once: 64.0, hourly: 32.0 },
    Bound { name: "proxy a descriptors", once: 8.0, hourly: 1.0 },
    Bound { name: "proxy b descriptors", once: 8.0, hourly: 1.0 },
    Bound { name: "direct proxy descriptors", once: 8.0, hourly: 1.0 },
    Bound { name: "workerd descriptors", once: 16.0, hourly: 1.0 },
    Bound { name: "latency p50, ms", once: 5.0, hourly: 1.0 },
    Bound { name: "latency p99, ms", once: 200.0, hourly: 50.0 },
    Bound { name: "state, MiB", once: 8.0, hourly: 3_600.0 * 5.0 * 3.0 / 1_024.0 },
];

/// Takes samples until `is_over`.
pub(crate) fn take(load: &Load, pids: &Pids, state: &Path, started: Instant, is_over: &AtomicBool) -> Series {
    let (mut series, mut last) = (Series::new(), since(started));
    while !is_over.load(Ordering::SeqCst) {
        // The interval of a measurement. No condition is waited for.
        thread::sleep(Duration::from_millis(100));
        let now = since(started);
        if now - last < INTERVAL_MS {
            continue;
        }
        let hours = Duration::from_millis(now).as_secs_f64() / 3_600.0;
        let mut add = |name: String, value: f64| series.entry(name).or_default().push((hours, value));
        for (name, pid) in pids.lock().iter() {
            let Some((memory, descriptors)) = usage_of(*pid) else { continue };
            add(format!("{name} RSS, MiB"), memory / MIB);
            add(format!("{name} descriptors"), descriptors);
        }
        let latencies = load.latencies(last);
        if let Some(end) = latencies.len().checked_sub(1) {
            add("latency p50, ms".to_owned(), latencies[end / 2]);
            add("latency p99, ms".to_owned(), latencies[end * 99 / 100]);
        }
        add("state, MiB".to_owned(), size_of(state) / MIB);
        last = now;
    }
    series
}

/// Returns the resident bytes and the open descriptors of a process that lives.
fn usage_of(pid: u32) -> Option<(f64, f64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u32 = resident.trim().trim_end_matches(" kB").parse().ok()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    Some((f64::from(kib) * 1_024.0, f64::from(u32::try_from(descriptors).ok()?)))
}

/// Returns the bytes below a folder, without what fills its disk.
#[allow(clippy::cast_precision_loss, reason = "a disk is smaller than 2^53 bytes")]
fn size_of(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let size = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        _ if entry.file_name() == BALLAST => 0.0,
        _ => entry.metadata().map_or(0.0, |metadata| metadata.len() as f64),
    };
    entries.map(size).sum()
}

/// Prints the slope of each series. Returns those whose interval lies above their bound.
pub(crate) fn judge(series: &Series) -> Vec<String> {
    let mut above = Vec::new();
    println!("\nslopes per hour, with their 95 % intervals, without the first fifth of the samples");
    for (name, points) in series {
        let points = &points[points.len() / WARM_UP..];
        let (Some(slope), Some(first), Some(last)) = (Slope::through(points), points.first(), points.last())
        else {
            println!("  {name}: too few samples");
            continue;
        };
        let hours = last.0 - first.0;
        let bound = BOUNDS.iter().find(|bound| bound.name == name);
        let bound = bound.map(|bound| (bound.once + bound.hourly * hours) / hours);
        let line = format!(
            "{name}: {:.1} at first, {:.1} at last, {} samples, slope {:.2} ± {:.2}, bound {}",
            first.1,
            last.1,
            points.len(),
            slope.slope,
            slope.half,
            bound.map_or_else(|| "none".to_owned(), |bound| format!("{bound:.1}")),
        );
        println!("  {line}");
        if bound.is_some_and(|bound| slope.slope - slope.half > bound) {
            above.push(line);
        }
    }
    above
}
