//! Brokers and the proxy die while clients write: what was acknowledged is there, once.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use skein_tests::{
    client::{Endpoint, Family, Running},
    cluster::{Cluster, Spec},
    process,
    skein::{Form, Skein, config},
    workplace,
};

const TOPIC: &str = "chaos";
const RATE: &str = "300";
/// Acknowledgements that show that writing goes on.
const PROGRESS: usize = 300;
/// A killed broker is missed after six seconds, and found again a while after its return.
const LIMIT: Duration = Duration::from_secs(90);

/// A writer of records with ids, and the file with those that were acknowledged.
pub(crate) struct Load {
    writer: Running,
    acknowledged: PathBuf,
    /// The writer stops when it is there.
    stop: PathBuf,
    dir: PathBuf,
}

impl Load {
    pub(crate) fn start(family: Family, endpoint: impl Into<Endpoint>) -> Result<Self> {
        let dir = workplace::run_dir("chaos")?;
        let acknowledged = dir.join("acknowledged");
        let stop = dir.join("stop");
        let arguments = ["--topic", TOPIC, "--rate", RATE, "--until", text(&stop)?, "--out", text(&acknowledged)?];
        let writer = Running::start(family, "produce-load", endpoint, &[], &arguments)?;
        Ok(Self { writer, acknowledged, stop, dir })
    }

    fn count(&self) -> usize {
        fs::read_to_string(&self.acknowledged).unwrap_or_default().lines().count()
    }

    /// Waits until records are acknowledged that were not when this was called.
    pub(crate) fn goes_on(&mut self) -> Result<()> {
        let before = self.count();
        process::until("more acknowledgements", LIMIT, || {
            let more = self.count() >= before + PROGRESS;
            ensure!(more || self.writer.is_running()?, "the writer ended too early: {before} acknowledged");
            Ok(more.then_some(()))
        })
    }

    /// Lets the writer finish, reads the topic without a proxy, and compares.
    pub(crate) fn compare(self, at_cluster: impl Into<Endpoint>, form: Form) -> Result<()> {
        fs::write(&self.stop, "")?;
        let counts = self.writer.result(LIMIT)?;
        ensure!(counts["failed"] == 0 && counts["acknowledged"] == counts["sent"], "writes failed: {counts}");
        let drained = self.dir.join("drained");
        let arguments = ["--topic", &form.real_name(TOPIC), "--out", text(&drained)?];
        Running::start(Family::Java, "drain", at_cluster, &[], &arguments)?.result(LIMIT)?;
        let (written, read) = (ids(&self.acknowledged)?, ids(&drained)?);
        let distinct: HashSet<_> = read.iter().collect();
        let lost = written.iter().filter(|id| !distinct.contains(id)).count();
        let twice = read.len() - distinct.len();
        ensure!(lost == 0 && twice == 0, "of {}, {lost} lost and {twice} there twice", written.len());
        ensure!(counts["acknowledged"] == written.len(), "{counts}, but {} in the file", written.len());
        Ok(())
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is not UTF-8")
}

fn ids(file: &Path) -> Result<Vec<String>> {
    Ok(fs::read_to_string(file)?.lines().map(str::to_owned).collect())
}

fn three(name: &str) -> Result<Cluster> {
    Cluster::start(&Spec::new(name, &[1, 7, 1001], skein_tests::cluster::Security::Open))
}

/// How often a writer that is only watched has to go on: a second each. A soak watches longer.
fn watched() -> Result<u32> {
    Ok(std::env::var("SKEIN_WATCHED").ok().map(|seconds| seconds.parse()).transpose()?.unwrap_or(5))
}

/// Brokers without a reporter do not offer telemetry, and neither does Skein: a client that has it on by default tells nobody.
#[test]
fn java_says_nothing_of_telemetry() -> Result<()> {
    let cluster = three("telemetry")?;
    let skein = Skein::start(&config(&cluster, Form::Bare)?)?;
    let mut load = Load::start(Family::Java, &skein.bootstrap())?;
    for _ in 0..watched()? {
        load.goes_on()?;
    }
    let log = load.writer.log();
    // One line tells that it begins to collect, whoever may want it.
    let is_told = |line: &&str| line.contains("elemetry") && !line.contains("initializing Kafka metrics collector");
    let told: Vec<_> = log.lines().filter(is_told).collect();
    ensure!(told.is_empty(), "{} lines: {:?}", told.len(), told.first());
    load.compare(&cluster.bootstrap(), Form::Bare)
}

/// A broker is killed and comes back.
fn lose_a_broker(cluster: &Cluster, load: &mut Load) -> Result<()> {
    load.goes_on()?;
    cluster.kill(7)?;
    load.goes_on()?;
    cluster.restart(7)?;
    load.goes_on()
}

fn nothing_is_lost(family: Family, form: Form) -> Result<()> {
    let cluster = three("chaos-through")?;
    let mut skein = Skein::start(&config(&cluster, form)?)?;
    let mut load = Load::start(family, &skein.bootstrap())?;
    load.writer = load.writer.avoiding(&cluster);
    lose_a_broker(&cluster, &mut load)?;
    skein.kill();
    skein.restart()?;
    load.goes_on()?;
    load.compare(&cluster.bootstrap(), form)
}

/// The proxy is told to stop, and one that begins anew goes on.
fn nothing_is_lost_over_a_drain(family: Family) -> Result<()> {
    let cluster = three("chaos-drain")?;
    let mut skein = Skein::start(&config(&cluster, Form::Bare)?)?;
    let mut load = Load::start(family, &skein.bootstrap())?;
    for _ in 0..3 {
        load.goes_on()?;
        skein.signal("TERM")?;
        let ended = skein.ended(Duration::from_secs(31))?;
        ensure!(ended.code() == Some(0), "{ended}");
        skein.restart()?;
    }
    load.goes_on()?;
    load.compare(&cluster.bootstrap(), Form::Bare)
}

#[test]
fn java_loses_nothing_over_a_drain() -> Result<()> {
    nothing_is_lost_over_a_drain(Family::Java)
}

#[test]
fn librdkafka_loses_nothing_over_a_drain() -> Result<()> {
    nothing_is_lost_over_a_drain(Family::Librdkafka)
}

#[test]
fn java_loses_nothing_in_disguise() -> Result<()> {
    nothing_is_lost(Family::Java, Form::Disguised)
}

#[test]
fn librdkafka_loses_nothing_through_a_bare_cluster() -> Result<()> {
    nothing_is_lost(Family::Librdkafka, Form::Bare)
}

fn without_a_proxy(family: Family) -> Result<()> {
    let cluster = three("chaos-direct")?;
    let mut load = Load::start(family, &cluster.bootstrap())?;
    lose_a_broker(&cluster, &mut load)?;
    load.compare(&cluster.bootstrap(), Form::Bare)
}

#[test]
#[ignore = "shows that the clients and the cluster can; says nothing of the proxy"]
fn java_loses_nothing_without_a_proxy() -> Result<()> {
    without_a_proxy(Family::Java)
}

#[test]
#[ignore = "shows that the clients and the cluster can; says nothing of the proxy"]
fn librdkafka_loses_nothing_without_a_proxy() -> Result<()> {
    without_a_proxy(Family::Librdkafka)
}
