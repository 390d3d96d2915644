//! The schemas of Kafka's messages, from the jar of its Java client.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use zip::ZipArchive;

use super::schema::Message;

/// The release whose layout the table has.
const RELEASE: &str = "4.4.0";

/// Where the schemas are in the jar.
const SCHEMAS: &str = "common/message/";

/// The jar in `folder`, fetched with Maven unless it is there.
pub fn fetch(folder: &Path) -> Result<PathBuf> {
    let jar = folder.join(format!("kafka-clients-{RELEASE}.jar"));
    if jar.exists() {
        return Ok(jar);
    }
    let status = Command::new("mvn")
        .arg("-q")
        .arg("dependency:copy")
        .arg(format!("-Dartifact=org.apache.kafka:kafka-clients:{RELEASE}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .status()
        .context("starting `mvn`, which fetches Kafka's schemas")?;
    ensure!(status.success() && jar.exists(), "`mvn dependency:copy` ({status}) left no {}", jar.display());
    Ok(jar)
}

/// All requests and responses in the jar.
pub fn messages(jar: &Path) -> Result<Vec<Message>> {
    let file = File::open(jar).with_context(|| format!("opening {}", jar.display()))?;
    let mut archive = ZipArchive::new(file).with_context(|| format!("reading {}", jar.display()))?;
    let mut schemas: Vec<String> = Vec::new();
    for name in archive.file_names() {
        schemas.extend(Some(name?.into_owned()).filter(|name| is_schema(name)));
    }
    ensure!(!schemas.is_empty(), "{} has no {SCHEMAS}*.json", jar.display());

    let mut messages = Vec::with_capacity(schemas.len());
    for name in schemas {
        let mut text = String::new();
        archive.by_name(&name)?.read_to_string(&mut text).with_context(|| name.clone())?;
        messages.push(Message::parse(&text).with_context(|| name.clone())?);
    }
    Ok(messages)
}

/// Headers and the data that Kafka keeps in records have schemas too, with other endings.
fn is_schema(name: &str) -> bool {
    name.starts_with(SCHEMAS) && (name.ends_with("Request.json") || name.ends_with("Response.json"))
}
