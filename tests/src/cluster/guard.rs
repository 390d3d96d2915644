//! What a guarded cluster trusts: an authority of its own for certificates, and an issuer of tokens of its own.

use std::path::Path;

use anyhow::Result;

use super::spec::{Properties, USERS, password};
use crate::{
    issuer::{AUDIENCE, TokenIssuer},
    pki::{Authority, Identity, Leaf},
};

/// What a guarded cluster calls the client that shows the certificate of its guard.
pub const CERTIFICATE_PRINCIPAL: &str = "CN=alice,OU=eng,O=Example";

/// The certificates and the tokens that a guarded cluster accepts.
#[derive(Debug)]
pub struct Guard {
    /// Signs the certificates of the brokers, and those of clients that they accept.
    pub authority: Authority,
    /// Mints the tokens that they accept. At its token endpoint each user is admitted, under the password that she has at first.
    pub issuer: TokenIssuer,
    /// A client's certificate: that of [`CERTIFICATE_PRINCIPAL`].
    pub client: Identity,
    /// The certificate of all brokers, for `localhost` and 127.0.0.1.
    broker: Identity,
}

impl Guard {
    pub(super) fn new(dir: &Path) -> Result<Self> {
        let authority = Authority::new(&dir.join("pki"), "Cluster authority")?;
        let broker = authority.issue("broker", &Leaf::server(&["localhost", "127.0.0.1"]))?;
        let client = authority.issue("client", &Leaf::client(CERTIFICATE_PRINCIPAL))?;
        let issuer = TokenIssuer::start()?;
        for user in USERS {
            issuer.admit(user, &password(user));
        }
        Ok(Self { authority, issuer, client, broker })
    }

    /// Kafka asks no URL that this does not name.
    pub(super) fn jvm_argument(&self) -> String {
        format!("-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={}", self.issuer.keys_url())
    }

    pub(super) fn properties(&self, properties: &mut Properties) {
        let mut set = |key: &str, value: String| properties.insert(key.to_owned(), value);
        for (listener, asks) in [("client", "none"), ("mutual", "required")] {
            let mut set = |key: &str, value: String| set(&format!("listener.name.{listener}.ssl.{key}"), value);
            set("keystore.type", "PEM".to_owned());
            set("keystore.location", self.broker.keystore.display().to_string());
            set("truststore.type", "PEM".to_owned());
            set("truststore.location", self.authority.certificate().display().to_string());
            set("client.auth", asks.to_owned());
        }
        let oauth = "org.apache.kafka.common.security.oauthbearer";
        let bearer = "listener.name.client.oauthbearer";
        set("listener.name.client.sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER".to_owned());
        set(&format!("{bearer}.sasl.jaas.config"), format!("{oauth}.OAuthBearerLoginModule required;"));
        let handler = format!("{oauth}.OAuthBearerValidatorCallbackHandler");
        set(&format!("{bearer}.sasl.server.callback.handler.class"), handler);
        set(&format!("{bearer}.sasl.oauthbearer.jwks.endpoint.url"), self.issuer.keys_url());
        // Milliseconds. So a new key is known soon.
        set(&format!("{bearer}.sasl.oauthbearer.jwks.endpoint.refresh.ms"), "1000".to_owned());
        set(&format!("{bearer}.sasl.oauthbearer.expected.issuer"), self.issuer.name().to_owned());
        set(&format!("{bearer}.sasl.oauthbearer.expected.audience"), AUDIENCE.to_owned());
        set("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer".to_owned());
        // Nobody logs in at the listeners that brokers have among themselves; the kit's `Admin` comes there too.
        set("super.users", "User:ANONYMOUS".to_owned());
    }
}
