//! Keeps a cluster for use by hand, until its standard input ends: `cargo run -p skein-tests --example cluster -- three`.

use std::io::{self, Read};

use anyhow::{Result, bail};
use skein_tests::cluster::{Cluster, Release, Security, Spec};

fn main() -> Result<()> {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let spec = match kind.as_str() {
        "single" => Spec::single(),
        "three" => Spec::three(),
        "secured" => Spec::secured(),
        "guarded" => Spec::guarded(),
        "3.9" => Spec::new("kafka-3.9", &[1], Security::Open).of(Release::V3_9),
        _ => bail!("say which: single, three, secured, guarded or 3.9"),
    };
    let cluster = Cluster::start(&spec)?;
    println!("{}", cluster.bootstrap());
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
