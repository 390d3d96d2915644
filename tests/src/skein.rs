//! The proxy under test, as a process of its own.

mod config;
mod gatehouse;
mod users;

use std::{
    env,
    fs::{self, File},
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

pub use self::config::{Form, Front, config};
pub use self::gatehouse::{Addressing, Gatehouse, certificate, password_at_skein, shown, tokens, upstream};
pub use self::users::Users;
use crate::{leaks::leak, ports, process, workplace};

const START_LIMIT: Duration = Duration::from_secs(20);

/// A running proxy. Dropping it kills it; its log stays.
#[derive(Debug)]
pub struct Skein {
    dir: PathBuf,
    binds: Vec<SocketAddr>,
    /// `None` after `kill`.
    process: Option<Child>,
    starts: u32,
    /// How often the file was written.
    versions: u32,
    /// How many file descriptors it may have.
    descriptors: Option<u32>,
    /// What it is to log, as `SKEIN_LOG` says it.
    log: Option<&'static str>,
}

impl Skein {
    /// Starts the proxy with this configuration file and waits until every listener's bootstrap port accepts.
    pub fn start(config_toml: &str) -> Result<Self> {
        Self::start_with(config_toml, None)
    }

    /// The same, with at most so many file descriptors.
    pub fn start_with(config_toml: &str, descriptors: Option<u32>) -> Result<Self> {
        Self::start_as(config_toml, descriptors, None)
    }

    /// The same, which logs as `SKEIN_LOG` would have it.
    pub fn start_saying(config_toml: &str, log: &'static str) -> Result<Self> {
        Self::start_as(config_toml, None, Some(log))
    }

    fn start_as(config_toml: &str, descriptors: Option<u32>, log: Option<&'static str>) -> Result<Self> {
        let binds = binds(config_toml)?;
        let dir = workplace::run_dir("skein")?;
        symlink("..data/skein.toml", dir.join("skein.toml"))?;
        let mut skein = Self { dir, binds, process: None, starts: 0, versions: 0, descriptors, log };
        skein.rewrite(config_toml)?;
        skein.launch()?;
        Ok(skein)
    }

    /// The bootstrap address of the first listener in the file.
    pub fn bootstrap(&self) -> String {
        self.binds.first().map(ToString::to_string).unwrap_or_default()
    }

    /// What the present or last process has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Its configuration file.
    pub fn file(&self) -> PathBuf {
        self.dir.join("skein.toml")
    }

    /// The process id; `None` after `kill`.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Kills the process (SIGKILL), as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.process.take() {
            process::end(&mut child);
        }
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.pid().context("it does not run")?;
        let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status()?;
        if !sent.success() {
            bail!("kill -{name} {pid} was refused");
        }
        Ok(())
    }

    /// Waits for its end, which something else brings about.
    pub fn ended(&mut self, limit: Duration) -> Result<ExitStatus> {
        let mut child = self.process.take().context("it does not run")?;
        process::finish(&mut child, limit)
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.process.as_mut().context("it does not run")?.try_wait()?.is_some())
    }

    /// Writes another configuration, as Kubernetes does: a new folder, and a symlink that leads to it from one moment on.
    pub fn rewrite(&mut self, config_toml: &str) -> Result<()> {
        self.versions += 1;
        let version = format!("version-{}", self.versions);
        fs::create_dir(self.dir.join(&version))?;
        fs::write(self.dir.join(&version).join("skein.toml"), config_toml)?;
        let new = self.dir.join("..data.new");
        symlink(version, &new)?;
        Ok(fs::rename(new, self.dir.join("..data"))?)
    }

    /// How many file descriptors it holds.
    pub fn descriptors(&self) -> Result<usize> {
        let pid = self.pid().context("it does not run")?;
        Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
    }

    /// Its resident memory in KiB.
    pub fn memory(&self) -> Result<u64> {
        let pid = self.pid().context("it does not run")?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// Starts it again with the same file, and waits as `start` does.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        self.launch()
    }

    fn launch(&mut self) -> Result<()> {
        self.starts += 1;
        let log = File::create(self.log_path())?;
        let program = program()?;
        let program_name = program.to_str().context("a path that is not UTF-8")?;
        let mut command = match self.descriptors {
            None => process::tethered(program_name),
            Some(most) => {
                let mut command = process::tethered("prlimit");
                command.args([&format!("--nofile={most}"), program_name]);
                command
            }
        };
        command.arg("run").arg(self.dir.join("skein.toml")).envs(self.log.map(|log| ("SKEIN_LOG", log)));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = self.process.insert(process::spawn(command)?);
        let up = process::until("the proxy", START_LIMIT, || {
            if let Some(status) = child.try_wait()? {
                bail!("it ended: {status}");
            }
            Ok(self.binds.iter().all(|bind| ports::accepts(bind.port())).then_some(()))
        });
        up.with_context(|| format!("starting {}; its log:\n{}", program.display(), self.log()))
    }

    fn log_path(&self) -> PathBuf {
        self.dir.join(format!("start-{}.log", self.starts))
    }

    /// A line with a secret, of all that it has logged.
    fn leak(&self) -> Option<String> {
        (1..=self.starts).find_map(|start| {
            let log = fs::read(self.dir.join(format!("start-{start}.log"))).unwrap_or_default();
            leak(&String::from_utf8_lossy(&log)).map(str::to_owned)
        })
    }
}

/// Whatever a test is about: no secret is in any log.
impl Drop for Skein {
    fn drop(&mut self) {
        self.kill();
        if !thread::panicking()
            && let Some(line) = self.leak()
        {
            panic!("a secret is in the log in {}: {line}", self.dir.display());
        }
    }
}

/// Starts the proxy with a standard error that nobody reads, and waits until it accepts at the first `bind`.
///
/// # Errors
/// It could not be started, or does not accept.
pub fn unread(config_toml: &str) -> Result<Child> {
    let file = workplace::run_dir("unread")?.join("skein.toml");
    fs::write(&file, config_toml)?;
    let mut command = process::tethered(program()?.to_str().context("a path that is not UTF-8")?);
    command.arg("run").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = process::spawn(command)?;
    let port = binds(config_toml)?.first().context("no bind")?.port();
    process::until("the proxy", START_LIMIT, || Ok(ports::accepts(port).then_some(())))?;
    Ok(child)
}

/// Runs `skein WORD FILE OPTIONS` on a configuration, to its end.
///
/// # Errors
/// It could not be started.
pub fn command(config_toml: &str, word: &str, options: &[&str]) -> Result<Output> {
    command_within(config_toml, word, options, &[])
}

/// The same, with variables of the environment.
///
/// # Errors
/// It could not be started.
pub fn command_within(config_toml: &str, word: &str, options: &[&str], environment: &[(&str, &str)]) -> Result<Output> {
    let file = workplace::run_dir(word)?.join("skein.toml");
    fs::write(&file, config_toml)?;
    ask_within(&[&[word, file.to_str().context("a path that is not UTF-8")?], options].concat(), environment)
}

/// Runs `skein ARGUMENTS` to its end.
///
/// # Errors
/// It could not be started.
pub fn ask(arguments: &[&str]) -> Result<Output> {
    ask_within(arguments, &[])
}

fn ask_within(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Output> {
    let program = program()?;
    let mut command = process::tethered(program.to_str().context("a path that is not UTF-8")?);
    command.args(arguments).envs(environment.iter().copied()).stdin(Stdio::null());
    command.output().with_context(|| format!("running {}", program.display()))
}

/// `SKEIN_BIN`, or the binary `skein-under-test` that Cargo built for this test.
fn program() -> Result<PathBuf> {
    if let Some(path) = env::var_os("SKEIN_BIN").or_else(|| env::var_os("CARGO_BIN_EXE_skein-under-test")) {
        return Ok(path.into());
    }
    // Cargo puts a package's binaries beside the folder with its tests.
    let test = env::current_exe()?;
    let built = test.parent().and_then(Path::parent).map(|target| target.join("skein-under-test"));
    built.filter(|path| path.exists()).context("no proxy to test: set SKEIN_BIN, or build skein-under-test")
}

fn binds(config_toml: &str) -> Result<Vec<SocketAddr>> {
    let listeners = config_toml.split("\n[admin]").next().unwrap_or_default();
    let values = listeners.lines().filter_map(|line| line.trim().strip_prefix("bind"));
    let values = values.filter_map(|rest| rest.trim_start().strip_prefix('='));
    let parsed = values.map(|value| value.trim().trim_matches('"').parse().context("a listener's bind"));
    let binds: Vec<_> = parsed.collect::<Result<_>>()?;
    if binds.is_empty() {
        bail!("the configuration has no line `bind = \"…\"`");
    }
    Ok(binds)
}
