//! The project speaks of itself only: of no machine it was made on, no mirror that a build used, no host of somebody's.

use anyhow::{Result, ensure};

use crate::{project_files, root};

/// Starts of paths that exist on one machine only. Put together here, or this file would be a finding.
const MACHINE_PATHS: [[&str; 2]; 5] = [["/wo", "rk/"], ["/ro", "ot/"], ["/ho", "me/"], ["/Us", "ers/"], ["/tm", "p/"]];

/// Hosts that a file may name in a URL.
const HOSTS: [&str; 6] = ["apache.org", "github.com", "json-schema.org", "keepachangelog.com", "w3.org", "example.com"];

#[test]
fn the_project_speaks_of_itself_only() -> Result<()> {
    let mut found = Vec::new();
    for path in project_files()? {
        // A corpus of frames is no text.
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        for (index, line) in text.lines().enumerate() {
            let place = format!("{}:{}", path.display(), index + 1);
            for start in MACHINE_PATHS.map(|parts| parts.concat()).iter().filter(|start| names(line, start)) {
                found.push(format!("{place} has a path of one machine: {start}"));
            }
            for host in hosts(line).filter(|host| !is_known(host)) {
                found.push(format!("{place} names the host {host}"));
            }
        }
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

/// Whether a line has an absolute path that starts so.
fn names(line: &str, start: &str) -> bool {
    line.match_indices(start)
        .any(|(at, _)| !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '.'))
}

/// The hosts of the URLs in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    let after = ["http://", "https://"].into_iter().flat_map(|scheme| line.split(scheme).skip(1));
    let is_host = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '-';
    after
        .map(move |rest| rest.split(|letter| !is_host(letter)).next().unwrap_or_default())
        .filter(|host| host.contains('.'))
}

fn is_known(host: &str) -> bool {
    HOSTS.iter().any(|known| host == *known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.')))
}
