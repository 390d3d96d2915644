//! How Skein logs in at a cluster: for itself, and for its clients.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use skein_login::Mechanism;
use skein_settings::{Fault, SecretSource, Spanned, Table, Text, fields, named, path, quoted, secret, text, words};

use super::{mechanism, name, web};

/// How Skein logs in at a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterLogin {
    /// Its own login. Without one it asks as its clients.
    pub service: Option<Credentials>,
    /// As whom it speaks for clients.
    pub clients: Clients,
    /// The logins of principals.
    pub map: BTreeMap<String, Credentials>,
}

/// As whom Skein speaks for its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// As itself.
    Service,
    /// As the map has it for the principal; who is not in it is refused.
    Map,
    /// As the map has it for the principal; as itself for who is not in it.
    MapOrService,
    /// As the client itself, with its own password or token, which the cluster judges.
    PassOn,
}

/// What a login is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// A name and a password.
    Password {
        /// PLAIN or one of SCRAM.
        mechanism: Mechanism,
        /// The name.
        username: String,
        /// The password.
        password: SecretSource,
    },
    /// A token.
    Token(TokenFrom),
}

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFrom {
    /// The environment, or a file that something else keeps fresh.
    Secret(SecretSource),
    /// An endpoint that grants them.
    Endpoint(Endpoint),
}

/// An endpoint that grants tokens to those who know a secret (RFC 6749, 4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub url: Spanned<String>,
    /// Whose certificates are trusted there; `None`: the roots of the system.
    pub ca: Option<Spanned<PathBuf>>,
    /// Who asks.
    pub client_id: String,
    /// The secret.
    pub client_secret: SecretSource,
    /// What the token is to allow.
    pub scope: Option<String>,
    /// For whom it is to be.
    pub audience: Option<String>,
}

const TITLE: &str = "a login";

/// The table `login` of a cluster.
pub(crate) fn cluster(table: &mut Table<'_>) -> Option<ClusterLogin> {
    let service = credentials(table, Presence::May);
    let clients = table.or(
        "clients",
        words([
            ("service", Clients::Service),
            ("map", Clients::Map),
            ("map-or-service", Clients::MapOrService),
            ("pass-on", Clients::PassOn),
        ]),
        Clients::Service,
        "As whom Skein speaks for its clients. `\"service\"`: as itself. `\"map\"`: by the entry of `map` for the client's \
         principal; who has none is refused. `\"map-or-service\"`: who has none is spoken for as Skein itself. `\"pass-on\"`: \
         with the client's own password or token, which the cluster judges; clients must then use PLAIN or OAUTHBEARER.",
    );
    let entry = fields(TITLE, "a table `[clusters.NAME.login.map.PRINCIPAL]`", |table: &mut Table<'_>| {
        credentials(table, Presence::Must)
    });
    let map = table.optional("map", named(1, entry), "Logins by principal: the same keys as above, for each.");
    let (service, clients, map) = (service?, clients?, map?);
    let (at, clients) = (clients.span(), *clients.get_ref());
    let fault = |what: &str, right: &str| table.tell(Fault::new(what, at.clone(), right));
    let (needs_map, needs_service) = match clients {
        Clients::Service => (false, true),
        Clients::Map => (true, false),
        Clients::MapOrService => (true, true),
        Clients::PassOn => (false, false),
    };
    match (needs_map, &map) {
        (true, None) => fault("clients are spoken for by a `map`, and there is none", "add `map`"),
        (false, Some(_)) => {
            fault("a `map` that nobody is looked up in", "write `clients = \"map\"`, or leave `map` out")
        }
        (true, Some(_)) | (false, None) => {}
    }
    if needs_service && service.is_none() {
        fault("a login without `mechanism`", "add `mechanism`, and the keys that it needs");
    }
    let map = map.map(Spanned::into_inner).unwrap_or_default();
    let map = map.into_iter().filter_map(|(name, entry)| Some((name.into_inner(), entry??)));
    Some(ClusterLogin { service, clients, map: map.collect() })
}

/// Whether there has to be a login.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Must,
    May,
}

/// The keys of one login, as they stand there.
struct Given {
    username: Option<Spanned<String>>,
    password: Option<Spanned<SecretSource>>,
    token: Option<Spanned<SecretSource>>,
    endpoint: Option<Spanned<String>>,
    ca: Option<Spanned<PathBuf>>,
    client_id: Option<Spanned<String>>,
    client_secret: Option<Spanned<SecretSource>>,
    scope: Option<Spanned<String>>,
    audience: Option<Spanned<String>>,
}

/// What a login needs, and what it may have besides.
type Wanted = (&'static [&'static str], &'static [&'static str]);

const NOTHING: Wanted = (&[], &[]);
const PASSWORD: Wanted = (&["username", "password"], &[]);
const TOKEN: Wanted = (&["token"], &[]);
const ENDPOINT: Wanted =
    (&["token-endpoint", "client-id", "client-secret"], &["token-endpoint-ca", "scope", "audience"]);

/// The login that a table has. `Some(None)`: it has none, and need not.
#[expect(clippy::option_option, reason = "the outer one is a fault that was told, the inner one what is not there")]
fn credentials(table: &mut Table<'_>, presence: Presence) -> Option<Option<Credentials>> {
    let about = "How to log in: `\"PLAIN\"`, `\"SCRAM-SHA-256\"`, `\"SCRAM-SHA-512\"` with `username` and `password`; \
                 `\"OAUTHBEARER\"` with `token`, or with `token-endpoint`, `client-id` and `client-secret`. For a login by \
                 certificate alone see `tls`.";
    let chosen = match presence {
        Presence::Must => table.required("mechanism", mechanism(), about).map(Some),
        Presence::May => table.optional("mechanism", mechanism(), about),
    };
    let given = given(table);
    let (chosen, given) = (chosen?, given?);
    let (by, wanted) = match chosen.as_ref().map(Spanned::get_ref) {
        None => ("a login without `mechanism`".to_owned(), NOTHING),
        Some(Mechanism::OAuthBearer) if given.token.is_some() => ("`OAUTHBEARER` with a `token`".to_owned(), TOKEN),
        Some(Mechanism::OAuthBearer) => ("`OAUTHBEARER` without a `token`".to_owned(), ENDPOINT),
        Some(mechanism) => (quoted(mechanism.name()), PASSWORD),
    };
    for (key, at) in given.places() {
        let (needs, takes) = (wanted.0.contains(&key), wanted.1.contains(&key));
        match (at, &chosen) {
            (Some(at), _) if !needs && !takes => {
                let right = format!("leave `{key}` out, or choose the `mechanism` that it belongs to");
                table.tell(Fault::new(format!("{by} takes no `{key}`"), at, right));
            }
            (None, Some(chosen)) if needs => {
                table.tell(Fault::new(format!("{by} needs `{key}`"), chosen.span(), format!("add `{key}`")));
            }
            (Some(_) | None, _) => {}
        }
    }
    match chosen {
        None => Some(None),
        Some(chosen) => given.credentials(chosen.into_inner()).map(Some),
    }
}

fn given(table: &mut Table<'_>) -> Option<Given> {
    let username = table.optional("username", name("a user's name"), "The name of the user.");
    let password = table.optional(
        "password",
        secret("a password"),
        "Its password: `\"file:PATH\"`, or `\"${NAME}\"` from the environment. A file is read again when it changes.",
    );
    let token = table.optional(
        "token",
        secret("a token"),
        "A token that something else keeps fresh: `\"file:PATH\"`. It is read again for each login.",
    );
    let endpoint = table.optional(
        "token-endpoint",
        endpoint(),
        "Where tokens are granted (RFC 6749, client credentials). A new one is fetched before the last expires.",
    );
    let ca = table.optional(
        "token-endpoint-ca",
        path("the path of a PEM file"),
        "A PEM file with the certificates that are trusted at `token-endpoint`; those of the system unless set.",
    );
    let client_id = table.optional("client-id", name("a client's id"), "Who asks for tokens.");
    let client_secret = table.optional("client-secret", secret("a secret"), "What proves it.");
    let scope = table.optional("scope", name("a scope"), "What tokens are to allow.");
    let audience = table.optional("audience", name("an audience"), "For whom tokens are to be.");
    Some(Given {
        username: username?,
        password: password?,
        token: token?,
        endpoint: endpoint?,
        ca: ca?,
        client_id: client_id?,
        client_secret: client_secret?,
        scope: scope?,
        audience: audience?,
    })
}

impl Given {
    /// Each key, and where it stands if it does.
    fn places(&self) -> [(&'static str, Option<Range<usize>>); 9] {
        [
            ("username", place(&self.username)),
            ("password", place(&self.password)),
            ("token", place(&self.token)),
            ("token-endpoint", place(&self.endpoint)),
            ("token-endpoint-ca", place(&self.ca)),
            ("client-id", place(&self.client_id)),
            ("client-secret", place(&self.client_secret)),
            ("scope", place(&self.scope)),
            ("audience", place(&self.audience)),
        ]
    }

    /// The login, if nothing that it needs is missing.
    fn credentials(self, mechanism: Mechanism) -> Option<Credentials> {
        if mechanism != Mechanism::OAuthBearer {
            let (username, password) = (self.username?.into_inner(), self.password?.into_inner());
            return Some(Credentials::Password { mechanism, username, password });
        }
        if let Some(token) = self.token {
            return Some(Credentials::Token(TokenFrom::Secret(token.into_inner())));
        }
        Some(Credentials::Token(TokenFrom::Endpoint(Endpoint {
            url: self.endpoint?,
            ca: self.ca,
            client_id: self.client_id?.into_inner(),
            client_secret: self.client_secret?.into_inner(),
            scope: self.scope.map(Spanned::into_inner),
            audience: self.audience.map(Spanned::into_inner),
        })))
    }
}

fn place<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
    value.as_ref().map(Spanned::span)
}

fn endpoint() -> Text<String> {
    text("an address of the web, `\"https://…\"`", "^https?://", |text| web(text).map(|()| text.to_owned()))
}
