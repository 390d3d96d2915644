//! How clients log in at a listener.

use std::path::PathBuf;
use std::time::Duration;

use skein_login::Mechanism;
use skein_settings::{Fault, Item, Shape, Spanned, Table, Value, Written, either, fields, list, path, time, words};

use super::{mechanism, name, web};

/// How clients of a listener log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerLogin {
    /// They do not.
    None,
    /// SASL bytes are passed on to the one cluster, which judges them.
    Relay,
    /// Skein judges them.
    Here(Here),
}

/// A login that Skein judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// What clients may use, at least one.
    pub mechanisms: Vec<Mechanism>,
    /// The file of users. Set if a mechanism has passwords, and no cluster judges them.
    pub users: Option<Spanned<PathBuf>>,
    /// What tokens must be like. Set if a mechanism has tokens.
    pub tokens: Option<Tokens>,
    /// How long a login holds (KIP-368); `None`: for as long as the connection.
    pub lifetime: Option<Duration>,
}

/// What the tokens of OAUTHBEARER must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Where the keys are that they are signed with.
    pub keys: Spanned<KeysFrom>,
    /// Whose certificates are trusted where the keys are asked for; `None`: the roots of the system.
    pub ca: Option<Spanned<PathBuf>>,
    /// Who must have issued them.
    pub issuer: String,
    /// For whom they must be, one of these.
    pub audience: Vec<String>,
    /// The claim that names the principal.
    pub principal: String,
    /// What they must allow, all of these.
    pub scopes: Vec<String>,
    /// How far clocks may be apart.
    pub skew: Duration,
}

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeysFrom {
    /// A JSON Web Key Set at an address of the web.
    Web(String),
    /// One in a file.
    File(PathBuf),
}

/// The key `login` of a listener.
pub(crate) fn listener() -> impl Written<Out = ListenerLogin> {
    let plain = words([("none", ListenerLogin::None), ("relay", ListenerLogin::Relay)]);
    either(plain, fields("a login", "a table with `mechanisms`", here))
}

fn here(table: &mut Table<'_>) -> Option<ListenerLogin> {
    let mechanisms = table.required(
        "mechanisms",
        list(1, mechanism()),
        "What clients may log in with: `\"PLAIN\"`, `\"SCRAM-SHA-256\"`, `\"SCRAM-SHA-512\"`, `\"OAUTHBEARER\"`. PLAIN sends the \
         password as it is: use it with `tls` only.",
    );
    let users = table.optional(
        "users",
        path("the path of a file that `skein user add` makes, such as \"users.toml\""),
        "The file of users, made by `skein user add`: salted hashes, no passwords. A change of it holds for whoever logs in \
         next. Needed for PLAIN and SCRAM, but where `clients = \"pass-on\"` has the cluster judge passwords.",
    );
    let tokens = fields("`tokens`", "a table `[virtual-clusters.NAME.listeners.NAME.login.tokens]`", tokens);
    let tokens = table.optional("tokens", tokens, "What the tokens of OAUTHBEARER must be like; needed for it.");
    let lifetime = table.optional(
        "session-lifetime",
        time(Duration::from_secs(1)..=Duration::from_secs(30 * 86_400)),
        "How long a login holds; clients log in again before it is over (KIP-368), and whoever does not is disconnected at its \
         next request. A token ends its login at its own time at the latest.",
    );
    let (mechanisms, users, tokens) = (mechanisms?, users?, tokens?);
    let at = mechanisms.span();
    let mechanisms: Vec<_> = mechanisms.into_inner().into_iter().map(Spanned::into_inner).collect();
    let has_tokens = mechanisms.contains(&Mechanism::OAuthBearer);
    if has_tokens != tokens.is_some() {
        let (what, right) = if has_tokens {
            ("`OAUTHBEARER` without `tokens`", "add a table `tokens` that says what tokens must be like")
        } else {
            ("`tokens` without `OAUTHBEARER`", "add `\"OAUTHBEARER\"`, or leave `tokens` out")
        };
        table.tell(Fault::new(what, at.clone(), right));
    }
    if users.is_some() && mechanisms.iter().all(|mechanism| *mechanism == Mechanism::OAuthBearer) {
        table.tell(Fault::new(
            "`users` without a mechanism that has passwords",
            at,
            "add `\"SCRAM-SHA-512\"`, say, or leave `users` out",
        ));
    }
    Some(ListenerLogin::Here(Here {
        mechanisms,
        users,
        tokens: tokens.map(Spanned::into_inner),
        lifetime: lifetime?.map(Spanned::into_inner),
    }))
}

fn tokens(table: &mut Table<'_>) -> Option<Tokens> {
    let keys = table.required(
        "keys",
        Keys,
        "Where the issuer's keys are, a JSON Web Key Set: `\"https://…\"` or `\"file:PATH\"`. They are looked at again every few \
         minutes, and when a token names a key that is not among them, every few seconds at most.",
    );
    let ca = table.optional(
        "ca",
        path("the path of a PEM file"),
        "A PEM file with the certificates that are trusted where the keys are asked for; those of the system unless set.",
    );
    let issuer = table.required(
        "issuer",
        name("an issuer, such as \"https://id.example.com\""),
        "What must stand in the claim `iss`.",
    );
    let audience = table.required(
        "audience",
        list(1, name("an audience, such as \"kafka\"")),
        "One of these must stand in the claim `aud`: a token that was made for something else is none for Kafka.",
    );
    let principal = table.optional(
        "principal",
        name("the name of a claim, such as \"sub\""),
        "The claim whose text is the principal; `\"sub\"` unless set.",
    );
    let scopes = table.optional(
        "scopes",
        list(1, name("a scope, such as \"kafka\"")),
        "All of these must stand in the claim `scope` or `scp`.",
    );
    let skew = table.or(
        "clock-skew",
        time(Duration::ZERO..=Duration::from_secs(600)),
        Duration::from_secs(30),
        "How far the issuer's clock may be from the one here.",
    );
    let all = |list: Option<Spanned<Vec<Spanned<String>>>>| -> Vec<String> {
        list.into_iter().flat_map(Spanned::into_inner).map(Spanned::into_inner).collect()
    };
    Some(Tokens {
        keys: keys?,
        ca: ca?,
        issuer: issuer?.into_inner(),
        audience: all(Some(audience?)),
        principal: principal?.map_or_else(|| "sub".to_owned(), Spanned::into_inner),
        scopes: all(scopes?),
        skew: skew?.into_inner(),
    })
}

/// Where keys are.
struct Keys;

const FILE: &str = "file:";

impl Value for Keys {
    type Out = KeysFrom;

    fn shape(&self) -> Shape {
        Shape::Plain { schema: Shape::text("^(https?://|file:)"), range: String::new() }
    }

    fn wanted(&self) -> String {
        "an address of the web, `\"https://…\"`, or `\"file:PATH\"`".to_owned()
    }

    fn read(&self, item: &Item<'_>) -> Option<KeysFrom> {
        let text = item.text(&self.wanted())?;
        let read = match text.strip_prefix(FILE) {
            Some("") => Err("an empty path".to_owned()),
            Some(path) => Ok(KeysFrom::File(item.path(path))),
            None => web(&text).map(|()| KeysFrom::Web(text.to_string())),
        };
        read.map_err(|what| item.fault(what, format!("write {}", self.wanted()))).ok()
    }
}
