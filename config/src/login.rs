//! Logins as a file declares them: of clients at a listener, and of Skein at a cluster. What the named files hold is looked at
//! where they are loaded.

mod cluster;
mod listener;

use skein_login::Mechanism;
use skein_settings::{Text, Words, quoted, text, words};

pub(crate) use self::cluster::cluster;
pub use self::cluster::{Clients, ClusterLogin, Credentials, Endpoint, TokenFrom};
pub(crate) use self::listener::listener;
pub use self::listener::{Here, KeysFrom, ListenerLogin, Tokens};

/// The mechanisms by their names.
fn mechanism() -> Words<Mechanism> {
    words(Mechanism::ALL.map(|mechanism| (mechanism.name(), mechanism)))
}

/// A free text that says something.
fn name(wanted: &'static str) -> Text<String> {
    text(wanted, ".", |text| match text {
        "" => Err("an empty text".to_owned()),
        _ => Ok(text.to_owned()),
    })
}

/// Whether a text is an address of the web. Over `http` whoever is on the way could read and change what passes, so only this
/// machine is asked that way.
fn web(text: &str) -> Result<(), String> {
    let rest = match text.split_once("://") {
        Some(("https", rest)) => rest,
        Some(("http", rest)) if is_local(rest) => rest,
        Some(("http", _)) => return Err(format!("{} is not safe: `http` is for this machine only", quoted(text))),
        _ => return Err(format!("{} is not an address that begins with `https://`", quoted(text))),
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_seen = text.chars().all(|letter| letter.is_ascii_graphic());
    // What stands before an `@` would be a secret in the open.
    if host.is_empty() || host.contains('@') || !is_seen {
        return Err(format!("{} is not an address of the web", quoted(text)));
    }
    Ok(())
}

fn is_local(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_can_change_on_its_way_is_asked() {
        for right in ["https://id.example.com/keys", "http://localhost:8080/x", "http://127.0.0.1/", "http://[::1]:9/a"]
        {
            assert_eq!(web(right), Ok(()), "{right}");
        }
        let wrong = [
            "http://id.example.com/",
            "http://localhost.example.com/",
            "https://",
            "https://a:b@c/",
            "ftp://x/",
            "x",
            "https://a b/",
        ];
        for wrong in wrong {
            assert!(web(wrong).is_err(), "{wrong}");
        }
    }
}
