//! Children that die with the test process, and waiting with a limit.

use std::{
    io,
    process::{Child, Command, ExitStatus},
    sync::{
        OnceLock,
        mpsc::{self, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// How long to leave between two looks at a condition.
const LOOK: Duration = Duration::from_millis(20);

/// A command for `program` whose process is killed when this one dies, where the system has `setpriv`.
pub fn tethered(program: &str) -> Command {
    static SETPRIV: OnceLock<bool> = OnceLock::new();
    let has_setpriv = *SETPRIV.get_or_init(|| {
        let probe = Command::new("setpriv").args(["--pdeathsig", "KILL", "true"]).output();
        probe.is_ok_and(|output| output.status.success())
    });
    if !has_setpriv {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

type Order = (Command, Sender<io::Result<Child>>);

/// Starts `command` from a thread that lives as long as this process.
///
/// Linux sends the signal of a parent's death when the *thread* that started the child ends; a test's thread ends
/// with the test, while what it started may be shared by the next.
pub fn spawn(command: Command) -> Result<Child> {
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in inbox {
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let what = format!("starting {:?}", command.get_program());
    let (reply, child) = mpsc::channel();
    spawner.send((command, reply)).context("the spawning thread is gone")?;
    child.recv().context("the spawning thread is gone")?.context(what)
}

/// Looks again and again until `look` finds something.
///
/// # Errors
/// What `look` failed with, or that `limit` passed; `what` says what was waited for.
pub fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look().with_context(|| format!("waiting for {what}"))? {
            return Ok(found);
        }
        if started.elapsed() > limit {
            bail!("{what}: not within {limit:?}");
        }
        thread::sleep(LOOK);
    }
}

/// Waits until `child` ends; one that has not after `limit` is killed, and that is an error.
pub fn finish(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let ended = until("the child's end", limit, || Ok(child.try_wait()?));
    if ended.is_err() {
        end(child);
    }
    ended
}

/// Kills `child` and waits until it is gone.
pub fn end(child: &mut Child) {
    // Both fail only if it has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Asks `child` to stop (SIGTERM); after `limit` it is killed.
pub fn stop(child: &mut Child, limit: Duration) -> Result<()> {
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
    if !asked.success() && child.try_wait()?.is_none() {
        bail!("kill -TERM {} was refused", child.id());
    }
    finish(child, limit).map(drop)
}
