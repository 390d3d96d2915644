//! What has to be fetched or compiled before a cluster or a client can run; each once, into `build/`.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result, anyhow, bail};

use crate::workplace;

/// The folder with the jars of a Kafka server.
pub fn kafka() -> Result<&'static Path> {
    static KAFKA: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&KAFKA, "kafka", "kafka", |sources, build| maven(sources, build, &["dependency:copy-dependencies"]))
}

/// The last release before 4.0.
const BEFORE_4: &str = "-Dkafka.version=3.9.1";

/// The folder with the jars of a Kafka server of the last release before 4.0.
pub fn kafka_3_9() -> Result<&'static Path> {
    static KAFKA: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&KAFKA, "kafka-3.9.1", "kafka", |sources, build| {
        maven(sources, build, &["dependency:copy-dependencies", BEFORE_4])
    })
}

/// The folder with the classes (`classes`) and jars (`libs`) of the Java client program.
pub fn java_client() -> Result<&'static Path> {
    static CLIENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&CLIENT, "java-client", "clients/java", |sources, build| {
        maven(sources, build, &["dependency:copy-dependencies", "compiler:compile"])
    })
}

/// The virtual environment with the libraries of all Python client programs.
pub fn python_client() -> Result<&'static Path> {
    static CLIENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let requirements = "clients/python/requirements.txt";
    once(&CLIENT, "python-client", requirements, |requirements, build| {
        ran(Command::new("python3").args(["-m", "venv"]).arg(build))?;
        let pip = build.join("bin/pip");
        ran(Command::new(pip).args(["install", "--quiet", "--requirement"]).arg(requirements))
    })
}

/// The folder with the Go client program, `probe`.
pub fn go_client() -> Result<&'static Path> {
    static CLIENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&CLIENT, "go-client", "clients/go", |sources, build| {
        let mut go = Command::new("go");
        go.args(["build", "-mod=readonly", "-trimpath", "-o"]).arg(build.join("probe")).arg(".").current_dir(sources);
        ran(&mut go)
    })
}

/// The folder with the Node client program, `probe.js`, and its libraries.
pub fn node_client() -> Result<&'static Path> {
    static CLIENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&CLIENT, "node-client", "clients/node", |sources, build| {
        // Node looks for libraries beside the program that wants them.
        for file in files(sources)? {
            fs::copy(&file, build.join(file.file_name().context("a file without a name")?))?;
        }
        ran(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(build))
    })
}

/// The folder with `names.so`, which client programs have preloaded to find names on this machine.
pub fn names() -> Result<&'static Path> {
    static NAMES: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&NAMES, "names", "clients/names", |sources, build| {
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(build.join("names.so"));
        ran(compiler.arg(sources.join("names.c")).arg("-ldl"))
    })
}

type Made = OnceLock<Result<PathBuf, String>>;

/// `build/<name>`, made by `make` from the file or folder `sources` unless it is there and of these very sources.
fn once(made: &'static Made, name: &str, sources: &str, make: fn(&Path, &Path) -> Result<()>) -> Result<&'static Path> {
    let sources = workplace::sources().join(sources);
    let made = made.get_or_init(|| {
        let made = fresh(name, &sources, make).with_context(|| format!("making build/{name}"));
        made.map_err(|error| format!("{error:#}"))
    });
    made.as_deref().map_err(|error| anyhow!(error.clone()))
}

fn fresh(name: &str, sources: &Path, make: fn(&Path, &Path) -> Result<()>) -> Result<PathBuf> {
    let build = workplace::build().join(name);
    let stamp = build.join(".made-from");
    let wanted = fingerprint(sources)?;
    fs::create_dir_all(workplace::build())?;
    // Two test processes may come here at the same time. The lock goes with the file, at the end of this function.
    let lock = File::create(workplace::build().join(format!(".{name}.lock")))?;
    lock.lock()?;
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(build);
    }
    if build.exists() {
        fs::remove_dir_all(&build)?;
    }
    fs::create_dir_all(&build)?;
    make(sources, &build)?;
    fs::write(stamp, wanted)?;
    Ok(build)
}

/// Differs when a file's name or content does.
fn fingerprint(sources: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in files(sources)? {
        file.strip_prefix(sources)?.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let entries = fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
    for entry in entries {
        found.extend(files(&entry?.path())?);
    }
    found.sort();
    Ok(found)
}

fn maven(sources: &Path, build: &Path, goals: &[&str]) -> Result<()> {
    let pom = sources.join("pom.xml");
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "--file"]).arg(pom).args(goals);
    maven.arg("-DincludeScope=runtime");
    maven.arg(format!("-DoutputDirectory={}", build.join("libs").display()));
    maven.arg(format!("-Dskein.build={}", build.display()));
    ran(&mut maven)
}

fn ran(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("running {:?}", command.get_program()))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&said));
    }
    Ok(())
}
