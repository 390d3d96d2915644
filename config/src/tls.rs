//! TLS as a file declares it: of a cluster, and of a listener. Nothing is read here but the file itself; what the named files
//! hold is looked at where they are loaded.

use std::path::PathBuf;

use skein_login::{Mapping, Source};
use skein_settings::{Fault, Spanned, Table, Text, fields, list, nearest, quoted, text, words};

/// A file that is named in the configuration, with the place of its name. A relative path begins at the folder of the
/// configuration.
pub type NamedFile = Spanned<PathBuf>;

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

/// A cipher suite, by its name in the registry of the IANA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// The version that has it.
    pub version: Version,
}

/// Every suite that there is.
pub const SUITES: [Suite; 9] = [
    Suite { name: "TLS_AES_256_GCM_SHA384", version: Version::Tls13 },
    Suite { name: "TLS_AES_128_GCM_SHA256", version: Version::Tls13 },
    Suite { name: "TLS_CHACHA20_POLY1305_SHA256", version: Version::Tls13 },
    Suite { name: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", version: Version::Tls12 },
    Suite { name: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", version: Version::Tls12 },
    Suite { name: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", version: Version::Tls12 },
    Suite { name: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", version: Version::Tls12 },
    Suite { name: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", version: Version::Tls12 },
    Suite { name: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", version: Version::Tls12 },
];

/// What may be agreed on in a handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Versions; none: all that there are.
    pub versions: Vec<Version>,
    /// Suites, best first; none: all that there are.
    pub suites: Vec<Suite>,
}

/// TLS towards a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterTls {
    /// Whom to trust; `None`: the roots of the system.
    pub ca: Option<NamedFile>,
    /// What Skein shows of itself: a certificate and its key.
    pub identity: Option<(NamedFile, NamedFile)>,
    /// The name that certificates are to have, where it is not the host that is dialled.
    pub server_name: Option<String>,
    /// What may be agreed on.
    pub agreed: Agreed,
}

/// Whether clients show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// They are not asked for one.
    None,
    /// They are asked, and need not have one. One that is shown has to be good.
    Requested,
    /// They have to.
    Required,
}

/// TLS of a listener.
#[derive(Clone, Debug)]
pub struct ListenerTls {
    /// The certificate, and those that lead from it to a root.
    pub certificate: NamedFile,
    /// Its key.
    pub key: NamedFile,
    /// Who signs the certificates of clients. Set if clients are asked for one.
    pub client_ca: Option<NamedFile>,
    /// Whether clients show a certificate.
    pub client_certificate: ClientCertificate,
    /// Whose a client's certificate is.
    pub principal: Mapping,
    /// What may be agreed on.
    pub agreed: Agreed,
}

fn file() -> Text<PathBuf> {
    text("the path of a PEM file; a relative one begins at the folder of this file", ".", |text| match text {
        "" => Err("an empty path".to_owned()),
        _ => Ok(PathBuf::from(text)),
    })
}

fn suite() -> Text<Suite> {
    text(
        "the IANA name of a suite with forward secrecy and AEAD, such as \"TLS_AES_256_GCM_SHA384\" for TLS 1.3 or \
         \"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\" for 1.2",
        "^TLS_",
        |text| {
            let found = SUITES.iter().find(|suite| suite.name == text).copied();
            let meant = || nearest(text, SUITES.iter().map(|suite| suite.name));
            let meant = || meant().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            found.ok_or_else(|| format!("{} is no suite that Skein has{}", quoted(text), meant()))
        },
    )
}

/// `versions` and `suites`.
fn agreed(table: &mut Table<'_>) -> Option<Agreed> {
    let versions = table.optional(
        "versions",
        list(1, words([("1.2", Version::Tls12), ("1.3", Version::Tls13)])),
        "Versions of TLS that may be agreed on, a list of `\"1.2\"` and `\"1.3\"`; both unless set. There are no older ones.",
    );
    let chosen = table.optional(
        "suites",
        list(1, suite()),
        "Cipher suites that may be agreed on, best first, by their IANA names; all that are safe unless set.",
    );
    let (versions, chosen) = (versions?, chosen?);
    let mut agreed = Agreed::default();
    agreed.versions.extend(versions.iter().flat_map(Spanned::get_ref).map(Spanned::get_ref));
    let has = |version, versions: &[Version]| versions.is_empty() || versions.contains(&version);
    for suite in chosen.iter().flat_map(Spanned::get_ref) {
        let Suite { name, version } = *suite.get_ref();
        if !has(version, &agreed.versions) {
            let what = format!("suite `{name}` is of TLS {}, which `versions` leaves out", number(version));
            table.tell(Fault::new(what, suite.span(), "leave it out, or add its version"));
        }
        agreed.suites.push(*suite.get_ref());
    }
    if let Some(at) = chosen.as_ref().map(Spanned::span) {
        for version in &agreed.versions {
            if !agreed.suites.iter().any(|suite| suite.version == *version) {
                let what = format!("`suites` has none of TLS {}, which `versions` has", number(*version));
                table.tell(Fault::new(what, at.clone(), "add one, or leave the version out"));
            }
        }
    }
    Some(agreed)
}

fn number(version: Version) -> &'static str {
    match version {
        Version::Tls12 => "1.2",
        Version::Tls13 => "1.3",
    }
}

/// `[clusters.NAME.tls]`.
fn cluster_keys(table: &mut Table<'_>) -> Option<ClusterTls> {
    let ca = table.optional(
        "ca",
        file(),
        "A PEM file with the certificates of those who sign the brokers' certificates. The roots of the system unless set. \
         There is no way to switch this check off.",
    );
    let certificate = table.optional(
        "certificate",
        file(),
        "A PEM file with the certificate that Skein shows to brokers which want one, and those between it and a root.",
    );
    let key = table.optional("key", file(), "A PEM file with the key of `certificate`.");
    let server_name = table.optional(
        "server-name",
        text("the name that the brokers' certificates have, such as \"kafka.internal\"", ".", |text| {
            crate::values::host(text).map(|host| host.to_string())
        }),
        "The name that brokers' certificates are to be for, where that is not the host that is dialled.",
    );
    let agreed = agreed(table);
    let (certificate, key) = (certificate?, key?);
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => {
            let what = "a certificate and its key come together, and here is one of them";
            table.tell(Fault::new(what, one.span(), "write both `certificate` and `key`, or neither"));
            None
        }
    };
    let server_name = server_name?.map(Spanned::into_inner);
    Some(ClusterTls { ca: ca?, identity, server_name, agreed: agreed? })
}

/// `[virtual-clusters.NAME.listeners.NAME.tls]`.
fn listener_keys(table: &mut Table<'_>) -> Option<ListenerTls> {
    let certificate = table.required(
        "certificate",
        file(),
        "A PEM file with the certificate that clients are shown, and those between it and a root. It has to cover every host \
         that clients are told. A changed file is used for new connections; those that are open stay.",
    );
    let key = table.required("key", file(), "A PEM file with the key of `certificate`: PKCS #8, PKCS #1 or SEC 1.");
    let client_ca = table.optional(
        "client-ca",
        file(),
        "A PEM file with the certificates of those who sign the certificates of clients. Needed if clients are asked for one.",
    );
    let client_certificate = table.or(
        "client-certificate",
        words([
            ("none", ClientCertificate::None),
            ("requested", ClientCertificate::Requested),
            ("required", ClientCertificate::Required),
        ]),
        ClientCertificate::None,
        "Whether clients show a certificate: `\"none\"`: they are not asked. `\"requested\"`: they may, and one that is shown \
         has to be good. `\"required\"`: they have to.",
    );
    let principal = table.optional(
        "principal",
        list(1, text("a rule that makes a principal of a certificate", ".", |text| Ok(text.to_owned()))),
        "Rules that make a principal of a name in a client's certificate, as Kafka's `ssl.principal.mapping.rules` has them: \
         `\"RULE:^CN=([^,]+).*$/$1/L\"`, `\"DEFAULT\"`. The first that fits is used; if none does, the client is refused. The \
         name as it is unless set.",
    );
    let source = table.or(
        "principal-from",
        words([("subject", Source::Subject), ("dns", Source::Dns), ("uri", Source::Uri), ("email", Source::Email)]),
        Source::Subject,
        "The name in a client's certificate that is its principal, or that the rules look at: `\"subject\"`, as Kafka writes \
         it, or the first of its alternative names that is a `\"dns\"` name, a `\"uri\"` such as a SPIFFE id, or an `\"email\"` \
         address.",
    );
    let agreed = agreed(table);
    let (client_ca, client_certificate, principal) = (client_ca?, client_certificate?, principal?);
    let asks = *client_certificate.get_ref() != ClientCertificate::None;
    match (asks, &client_ca) {
        (false, Some(ca)) => table.tell(Fault::new(
            "`client-ca` judges certificates of clients, which are not asked for one",
            ca.span(),
            "write `client-certificate = \"required\"` or `\"requested\"`, or leave `client-ca` out",
        )),
        (true, None) => table.tell(Fault::new(
            "clients are asked for a certificate, and nothing says who may sign it",
            client_certificate.span(),
            "add `client-ca`: a PEM file with the certificates of those who sign those of clients",
        )),
        (true, Some(_)) | (false, None) => {}
    }
    let rules: Vec<_> = principal.iter().flat_map(Spanned::get_ref).collect();
    let texts: Vec<_> = rules.iter().map(|rule| rule.get_ref().as_str()).collect();
    let mapping = Mapping::new(source?.into_inner(), &texts).unwrap_or_else(|(place, what)| {
        let at = rules.get(place).map_or(0..0, |rule| rule.span());
        table.tell(Fault::new(
            what,
            at,
            "write `RULE:PATTERN/REPLACEMENT/`, with L or U behind it or not, or `DEFAULT`",
        ));
        Mapping::default()
    });
    if let (false, Some(principal)) = (asks, &principal) {
        let what = "`principal` is about certificates of clients, which are not asked for one";
        table.tell(Fault::new(what, principal.span(), "ask for them with `client-certificate`, or leave it out"));
    }
    Some(ListenerTls {
        certificate: certificate?,
        key: key?,
        client_ca,
        client_certificate: client_certificate.into_inner(),
        principal: mapping,
        agreed: agreed?,
    })
}

/// The table of a cluster.
pub(crate) fn cluster(table: &mut Table<'_>) -> Option<Option<ClusterTls>> {
    let tls = fields("`tls`", "a table `[clusters.NAME.tls]`", cluster_keys);
    let tls = table.optional("tls", tls, "TLS towards its brokers. Without this table they are spoken to without TLS.");
    tls.map(|tls| tls.map(Spanned::into_inner))
}

/// The table of a listener.
pub(crate) fn listener(table: &mut Table<'_>) -> Option<Option<Spanned<ListenerTls>>> {
    let tls = fields("`tls`", "a table `[virtual-clusters.NAME.listeners.NAME.tls]`", listener_keys);
    table.optional("tls", tls, "TLS towards its clients. Without this table there is none.")
}
