//! What the system says about another process: CPU time and memory, from `/proc`.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Nanoseconds of one clock tick of `/proc/PID/stat` (`USER_HZ` is 100 on Linux).
const TICK: u64 = 10_000_000;
/// How far the two clocks may differ, in nanoseconds, before the coarse one is believed.
const DISAGREEMENT: u64 = 3 * TICK;

/// CPU time of a process since it began.
///
/// `schedstat` counts nanoseconds, but only of threads that live; `stat` counts ticks of 10 ms, of all threads that ever
/// lived. A thread that sleeps has an exact `schedstat`, so it is read while the process is idle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    /// Nanoseconds on a CPU, living threads.
    nanoseconds: u64,
    /// How often a living thread was put on a CPU.
    slices: u64,
    /// Ticks in user space, all threads.
    user: u64,
    /// Ticks in the kernel, all threads.
    system: u64,
}

impl Cpu {
    /// Reads the clocks of `pid`.
    ///
    /// # Errors
    /// If the process does not exist or `/proc` has another form.
    pub fn of(pid: u32) -> Result<Self> {
        let mut cpu = Self::default();
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end between the listing and the reading.
            let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let mut numbers = text.split_whitespace().map(str::parse::<u64>);
            cpu.nanoseconds += numbers.next().context("schedstat is empty")??;
            cpu.slices += numbers.nth(1).context("schedstat has no third number")??;
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let (_, fields) = stat.rsplit_once(')').context("stat has no name")?; // a name may have spaces
        let mut ticks = fields.split_whitespace().skip(11).map(str::parse::<u64>);
        cpu.user = ticks.next().context("stat has no utime")??;
        cpu.system = ticks.next().context("stat has no stime")??;
        Ok(cpu)
    }

    /// What was spent between `earlier` and this reading.
    pub fn since(&self, earlier: &Self) -> Spent {
        let (user, system) = (self.user - earlier.user, self.system - earlier.system);
        let (fine, coarse) = (self.nanoseconds.saturating_sub(earlier.nanoseconds), (user + system) * TICK);
        let nanoseconds = if coarse.abs_diff(fine) > DISAGREEMENT + fine / 50 { coarse } else { fine };
        let slices = self.slices.saturating_sub(earlier.slices);
        Spent { seconds: nanoseconds as f64 / 1e9, slices, user, system }
    }
}

/// CPU time between two readings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Seconds on a CPU.
    pub seconds: f64,
    /// How often a thread was put on a CPU.
    pub slices: u64,
    /// Ticks of 10 ms in user space.
    pub user: u64,
    /// Ticks of 10 ms in the kernel.
    pub system: u64,
}

/// Resident memory of `pid` in KiB, exact: the page tables are walked.
///
/// # Errors
/// If the process does not exist.
pub fn resident(pid: u32) -> Result<u64> {
    let rollup = kibibytes(format!("/proc/{pid}/smaps_rollup"), "Rss:");
    rollup.or_else(|_| kibibytes(format!("/proc/{pid}/status"), "VmRSS:"))
}

/// Resident memory of `pid` in KiB, cheap to read, but off by some dozen pages.
///
/// # Errors
/// If the process does not exist.
pub fn resident_now(pid: u32) -> Result<u64> {
    kibibytes(format!("/proc/{pid}/status"), "VmRSS:")
}

/// The most resident memory that `pid` ever had, in KiB.
///
/// # Errors
/// If the process does not exist.
pub fn resident_peak(pid: u32) -> Result<u64> {
    kibibytes(format!("/proc/{pid}/status"), "VmHWM:")
}

fn kibibytes(file: impl AsRef<Path>, label: &str) -> Result<u64> {
    let text = fs::read_to_string(&file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    let number = line.and_then(|line| line.split_whitespace().next()).with_context(|| format!("no {label}"))?;
    Ok(number.parse()?)
}
