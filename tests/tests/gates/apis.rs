//! Every API of the field table has a place that somebody has thought about: a row of `docs/apis.md`.

use anyhow::{Result, ensure};
use skein_filters::authorize;
use skein_filters::authorize::apis::OfCluster;
use skein_filters::authorize::operation::{Operation, Resource};
use skein_protocol::frame::Head;
use skein_protocol::ids::ApiKey;
use skein_protocol::outline::Outline;
use skein_protocol::table::{Api, Table};
use skein_routing::apis::loss;
use skein_routing::apis::manner::{self, Place};
use skein_routing::graph::Manner;
use skein_routing::router::Lost;

use crate::read;

const PAGE: &str = "docs/apis.md";

#[test]
fn every_key_is_handled() -> Result<()> {
    let text = read(PAGE)?;
    let first_cell = |line: &&str| line.split('|').nth(1).is_some_and(|cell| cell.trim().parse::<i16>().is_ok());
    let found: Vec<&str> = text.lines().filter(first_cell).map(str::trim).collect();
    let wanted: Vec<String> = Table::get().apis().map(row).collect();
    let missing: Vec<&str> = wanted.iter().map(String::as_str).filter(|row| !found.contains(row)).collect();
    let stale: Vec<&&str> = found.iter().filter(|row| !wanted.iter().any(|wanted| wanted == *row)).collect();
    ensure!(
        missing.is_empty() && stale.is_empty() && found.len() == wanted.len(),
        "{PAGE} and the code differ. Think about each row before it is copied.\nthe code has:\n{}\nthe page has:\n{}",
        missing.join("\n"),
        stale.iter().map(|row| **row).collect::<Vec<_>>().join("\n"),
    );
    Ok(())
}

/// What the page has to say of an API.
fn row(api: &Api) -> String {
    let Api { key, name, .. } = api;
    let (from, to) = (api.request.versions.from, api.request.versions.to.min(manner::highest(*key)));
    // librdkafka stops compressing if it is not shown from 0; a request below 3 ends in a close.
    let from = if *key == ApiKey::PRODUCE { 0 } else { from };
    let range = if from == to { from.to_string() } else { format!("{from}–{to}") };
    let (range, how) = match manner::place(*key) {
        Place::Ours => (range, "answered by Skein".to_owned()),
        Place::Login => (range, "login".to_owned()),
        Place::Broker(Manner::Stream) => (range, "streams".to_owned()),
        Place::Broker(Manner::Gather(cap)) => (range, format!("gathered, {} MiB", cap >> 20)),
        Place::NotOffered => ("–".to_owned(), "not offered".to_owned()),
    };
    format!("| {} | {name} | {range} | {how} |", key.0)
}

/// What `kind = "authorize"` asks for each API, and shows in its answers.
#[test]
fn what_each_api_needs_is_in_the_manual() -> Result<()> {
    let text = read(PAGE)?;
    let section = text.split("\n## ").find(|section| section.starts_with("What each needs")).unwrap_or_default();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    let wanted: Vec<String> = authorize::apis::all().map(needs).collect();
    ensure!(found == wanted, "{PAGE} and filters/src/authorize/apis.rs differ; the code has:\n{}", wanted.join("\n"));
    let refused = |api: &&Api| manner::place(api.key) != Place::NotOffered && authorize::apis::facts(api.key).is_none();
    for api in Table::get().apis().filter(refused).filter(|api| !is_of_connections(api.key)) {
        ensure!(section.contains(&api.name), "{PAGE} does not say that {} is not offered", api.name);
    }
    Ok(())
}

/// ApiVersions, and logins.
fn is_of_connections(key: ApiKey) -> bool {
    matches!(manner::place(key), Place::Ours | Place::Login)
}

fn needs(facts: &authorize::apis::Facts) -> String {
    let word = |operation| Operation::ALL.iter().find(|(_, one)| *one == operation).map_or("", |(word, _)| *word);
    let listed = |pairs: &[(Resource, Operation)]| {
        let one = |(resource, operation): &(Resource, Operation)| {
            let of = match resource {
                Resource::Topic => "topic",
                Resource::Group => "group",
                Resource::TransactionalId => "transactional id",
                Resource::Cluster => "cluster",
            };
            format!("{} {of}", word(*operation))
        };
        pairs.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let (asks, shows) = (listed(facts.asks), listed(facts.shows));
    let (mut asked, mut shown) = (asks.clone(), shows.clone());
    match facts.cluster {
        OfCluster::Nothing => {}
        OfCluster::Needed(operation) => asked = format!("{} cluster", word(operation)),
        OfCluster::Enough(operation) => {
            let or = |what: &str| format!("{what}, or {} cluster", word(operation));
            asked = if asks.is_empty() { asks } else { or(&asks) };
            shown = if shows.is_empty() { shows } else { or(&shows) };
        }
    }
    let dash = |text: String| if text.is_empty() { "–".to_owned() } else { text };
    format!("| {} | {} | {} |", facts.key, dash(asked), dash(shown))
}

const CODES: &str = "docs/error-codes.md";

#[test]
fn the_code_of_every_lost_request_is_in_the_manual() -> Result<()> {
    let text = read(CODES)?;
    let wanted: Vec<String> = Table::get().apis().filter_map(lost).collect();
    let found: Vec<&str> = text.lines().filter(|line| line.matches('|').count() == 4).skip(2).collect();
    ensure!(found == wanted, "{CODES} and routing/src/apis/loss.rs differ; the code has:\n{}", wanted.join("\n"));
    Ok(())
}

/// What the page says of an API whose broker is lost; nothing if no code says it.
fn lost(api: &Api) -> Option<String> {
    if matches!(manner::place(api.key), Place::Ours | Place::NotOffered) {
        return None;
    }
    let head = Head { length: 0, key: api.key, version: api.request.versions.to, correlation: 0 };
    let code = |lost| loss::code(&head, &Outline::default(), lost).map(|code| format!("{} {code}", code.0));
    Some(format!("| {} | {} | {} |", api.name, code(Lost::Unsent)?, code(Lost::Unknown)?))
}
