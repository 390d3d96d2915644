//! Whatever Skein says of a file with secrets in it, none of them is in it.

use anyhow::{Result, ensure};
use skein_tests::fake::Fake;
use skein_tests::leaks::leak;
use skein_tests::skein::{self, Skein};
use skein_tests::{http, ports};

use crate::stage::{REAL_CLUSTER, config};

const PASSWORD: &str = "literal-secret-of-skein";

/// A file with a password in the open, and with an admin listener.
fn file(fake: &Fake, first: u16) -> Result<String> {
    let login = format!("mechanism = \"SCRAM-SHA-512\"\nusername = \"skein\"\npassword = \"{PASSWORD}\"\n");
    let admin = first + 11;
    Ok(format!(
        "{}\n[clusters.one.login]\n{login}\n[admin]\nbind = \"127.0.0.1:{admin}\"\n",
        config("main-1", fake, first)?
    ))
}

fn shows_none(what: &str, said: &[u8]) -> Result<()> {
    let said = String::from_utf8_lossy(said);
    ensure!(leak(&said).is_none(), "{what} shows a secret: {said}");
    Ok(())
}

#[test]
fn no_command_and_no_page_shows_a_secret_of_the_file() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?.topic("t", &[1, 7]);
    let first = ports::block(12)?;
    let text = file(&fake, first)?;
    let metadata = ["--api", "Metadata"];
    for (word, options) in
        [("check", &[][..]), ("check", &["--live"]), ("graph", &[]), ("explain", &metadata), ("explain", &[])]
    {
        let said = skein::command(&text, word, options)?;
        shows_none(word, &[said.stdout, said.stderr].concat())?;
    }
    let mut skein = Skein::start_saying(&text, "trace")?;
    let admin = format!("127.0.0.1:{}", first + 11).parse()?;
    for page in ["/config", "/status", "/metrics", "/graph", "/readyz", "/nowhere"] {
        let answer = http::get(admin, page)?;
        shows_none(page, format!("{}{}", answer.head, answer.body).as_bytes())?;
    }
    let status = skein::ask(&["status", "--admin", &admin.to_string()])?;
    shows_none("status", &[status.stdout, status.stderr].concat())?;
    // What is told of a changed file with a fault goes to the log, which is looked at as Skein ends.
    skein.rewrite(&text.replace(&format!("\"{PASSWORD}\""), PASSWORD))?;
    skein_tests::process::until("the fault", crate::stage::SOON, || {
        Ok(skein.log().contains("file not taken over").then_some(()))
    })
}

#[test]
fn no_fault_of_a_file_shows_a_secret() -> Result<()> {
    let fake = Fake::start(REAL_CLUSTER, &[1, 7])?;
    let text = file(&fake, ports::block(12)?)?;
    let right = format!("password = \"{PASSWORD}\"");
    for wrong in [
        format!("password = \"{PASSWORD}"),
        format!("password = {PASSWORD}"),
        format!("password = [\"{PASSWORD}\"]"),
        format!("password = {{ is = \"{PASSWORD}\" }}"),
        format!("pasword = \"{PASSWORD}\""),
        format!("password = \"\"\"\n{PASSWORD}"),
        format!("password = \"${{NOWHERE}}{PASSWORD}\""),
        format!("{right}\n{right}"),
        format!("{right} {right}"),
        format!("{right}\nclient-secret = \"{PASSWORD}\""),
        format!("{right}\ntoken = \"{PASSWORD}\""),
        format!("password == \"{PASSWORD}\""),
    ] {
        let checked = skein::command(&text.replace(&right, &wrong), "check", &[])?;
        let said = String::from_utf8([checked.stdout, checked.stderr].concat())?;
        ensure!(!checked.status.success(), "{wrong} is right: {said}");
        ensure!(!said.contains(PASSWORD) && said.contains("skein.toml:"), "{wrong}: {said}");
    }
    Ok(())
}
