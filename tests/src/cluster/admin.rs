//! Changes of a guarded cluster's rules and users, which return when every broker knows of them.

use std::{
    net::SocketAddr,
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256, PBKDF2_HMAC_SHA512};
use bytes::Bytes;
use kafka_protocol::{
    messages::{
        AlterUserScramCredentialsRequest, CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest,
        DescribeUserScramCredentialsRequest,
        alter_user_scram_credentials_request::{ScramCredentialDeletion, ScramCredentialUpsertion},
        create_acls_request::AclCreation,
        delete_acls_request::DeleteAclsFilter,
        describe_user_scram_credentials_request::UserName,
    },
    protocol::StrBytes,
};

use crate::{process, raw::Raw};

const LIMIT: Duration = Duration::from_secs(20);

/// What is done to a resource; the numbers are Kafka's (`AclOperation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "Kafka's words")]
pub enum Operation {
    All = 2,
    Read = 3,
    Write = 4,
    Create = 5,
    Delete = 6,
    Alter = 7,
    Describe = 8,
    ClusterAction = 9,
    DescribeConfigs = 10,
    AlterConfigs = 11,
    IdempotentWrite = 12,
}

/// Whether a rule allows or denies (`AclPermissionType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "Kafka's words")]
pub enum Permission {
    Deny = 2,
    Allow = 3,
}

/// How a rule names its resource (`PatternType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "Kafka's words")]
pub enum Pattern {
    Literal = 3,
    Prefixed = 4,
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Kafka's number (`ResourceType`).
    kind: i8,
    name: String,
    pattern: Pattern,
}

impl Resource {
    /// A topic; `*` is all.
    pub fn topic(name: &str) -> Self {
        Self::new(2, name)
    }

    /// A group; `*` is all.
    pub fn group(name: &str) -> Self {
        Self::new(3, name)
    }

    /// The cluster.
    pub fn cluster() -> Self {
        Self::new(4, "kafka-cluster")
    }

    /// A transactional id; `*` is all.
    pub fn transactional_id(name: &str) -> Self {
        Self::new(5, name)
    }

    /// All whose names begin with this one's.
    #[must_use]
    pub fn prefix(self) -> Self {
        Self { pattern: Pattern::Prefixed, ..self }
    }

    fn new(kind: i8, name: &str) -> Self {
        Self { kind, name: name.to_owned(), pattern: Pattern::Literal }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// Without the `User:`; `*` is everybody.
    principal: String,
    operation: Operation,
    resource: Resource,
    permission: Permission,
}

impl Acl {
    /// Lets a principal, such as `alice`, do something.
    pub fn allow(principal: &str, operation: Operation, resource: Resource) -> Self {
        Self { principal: principal.to_owned(), operation, resource, permission: Permission::Allow }
    }

    /// Keeps a principal from something, whatever else allows it.
    pub fn deny(principal: &str, operation: Operation, resource: Resource) -> Self {
        Self { permission: Permission::Deny, ..Self::allow(principal, operation, resource) }
    }

    fn user(&self) -> StrBytes {
        text(&format!("User:{}", self.principal))
    }

    fn creation(&self) -> AclCreation {
        AclCreation::default()
            .with_resource_type(self.resource.kind)
            .with_resource_name(text(&self.resource.name))
            .with_resource_pattern_type(self.resource.pattern as i8)
            .with_principal(self.user())
            .with_host(StrBytes::from_static_str("*"))
            .with_operation(self.operation as i8)
            .with_permission_type(self.permission as i8)
    }

    fn filter(&self) -> DeleteAclsFilter {
        DeleteAclsFilter::default()
            .with_resource_type_filter(self.resource.kind)
            .with_resource_name_filter(Some(text(&self.resource.name)))
            .with_pattern_type_filter(self.resource.pattern as i8)
            .with_principal_filter(Some(self.user()))
            .with_host_filter(Some(StrBytes::from_static_str("*")))
            .with_operation(self.operation as i8)
            .with_permission_type(self.permission as i8)
    }
}

/// A kind of SCRAM (`ScramMechanism`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scram {
    /// SCRAM-SHA-256.
    Sha256 = 1,
    /// SCRAM-SHA-512.
    Sha512 = 2,
}

/// A super user of a cluster.
#[derive(Debug)]
pub struct Admin {
    /// Of all brokers that are up.
    brokers: Vec<SocketAddr>,
}

impl Admin {
    pub(super) fn new(brokers: Vec<SocketAddr>) -> Result<Self> {
        ensure!(!brokers.is_empty(), "no broker is up");
        Ok(Self { brokers })
    }

    /// Adds rules.
    pub fn add(&self, rules: &[Acl]) -> Result<()> {
        let request = CreateAclsRequest::default().with_creations(rules.iter().map(Acl::creation).collect());
        for result in self.connect()?.call(3, &request)?.results {
            succeeded("adding a rule", result.error_code, result.error_message)?;
        }
        self.everywhere("the new rules", |broker| all(rules.iter().map(|rule| is_there(broker, rule))))
    }

    /// Takes rules away; one that is not there is no error.
    pub fn remove(&self, rules: &[Acl]) -> Result<()> {
        let request = DeleteAclsRequest::default().with_filters(rules.iter().map(Acl::filter).collect());
        for result in self.connect()?.call(3, &request)?.filter_results {
            succeeded("taking a rule away", result.error_code, result.error_message)?;
        }
        self.everywhere("the end of rules", |broker| all(rules.iter().map(|rule| Ok(!is_there(broker, rule)?))))
    }

    /// Gives a user this password, under one kind of SCRAM. One that is not there yet is made.
    ///
    /// PLAIN does not change: its users are in the configuration of the brokers.
    pub fn set_password(&self, user: &str, scram: Scram, password: &str) -> Result<()> {
        // Kafka's own least number of iterations, and each time one more: so it is seen when a broker knows the new one.
        static ITERATIONS: AtomicU32 = AtomicU32::new(4096);
        let iterations = ITERATIONS.fetch_add(1, Ordering::Relaxed) + 1;
        let salt = *b"a salt for tests";
        let (algorithm, length) = match scram {
            Scram::Sha256 => (PBKDF2_HMAC_SHA256, 32),
            Scram::Sha512 => (PBKDF2_HMAC_SHA512, 64),
        };
        let mut salted = vec![0; length];
        let rounds = NonZeroU32::new(iterations).context("no iterations")?;
        pbkdf2::derive(algorithm, rounds, &salt, password.as_bytes(), &mut salted);
        let iterations = i32::try_from(iterations)?;
        let upsertion = ScramCredentialUpsertion::default()
            .with_name(text(user))
            .with_mechanism(scram as i8)
            .with_iterations(iterations)
            .with_salt(Bytes::copy_from_slice(&salt))
            .with_salted_password(salted.into());
        self.alter(&AlterUserScramCredentialsRequest::default().with_upsertions(vec![upsertion]))?;
        self.everywhere("the new password", |broker| Ok(known(broker, user, scram)? == Some(iterations)))
    }

    /// Takes a user's password away, under one kind of SCRAM.
    pub fn remove_user(&self, user: &str, scram: Scram) -> Result<()> {
        let deletion = ScramCredentialDeletion::default().with_name(text(user)).with_mechanism(scram as i8);
        self.alter(&AlterUserScramCredentialsRequest::default().with_deletions(vec![deletion]))?;
        self.everywhere("the end of a user", |broker| Ok(known(broker, user, scram)?.is_none()))
    }

    fn alter(&self, request: &AlterUserScramCredentialsRequest) -> Result<()> {
        for result in self.connect()?.call(0, request)?.results {
            succeeded("changing a user", result.error_code, result.error_message)?;
        }
        Ok(())
    }

    fn connect(&self) -> Result<Raw> {
        Raw::connect(*self.brokers.first().context("no broker")?)
    }

    fn everywhere(&self, what: &str, is_so: impl Fn(&mut Raw) -> Result<bool>) -> Result<()> {
        for broker in &self.brokers {
            let mut broker = Raw::connect(*broker)?;
            process::until(what, LIMIT, || Ok(is_so(&mut broker)?.then_some(())))?;
        }
        Ok(())
    }
}

/// Whether a broker knows this very rule.
fn is_there(broker: &mut Raw, rule: &Acl) -> Result<bool> {
    let request = DescribeAclsRequest::default()
        .with_resource_type_filter(rule.resource.kind)
        .with_resource_name_filter(Some(text(&rule.resource.name)))
        .with_pattern_type_filter(rule.resource.pattern as i8)
        .with_principal_filter(Some(rule.user()))
        .with_host_filter(None)
        .with_operation(rule.operation as i8)
        .with_permission_type(rule.permission as i8);
    let response = broker.call(3, &request)?;
    succeeded("asking for a rule", response.error_code, response.error_message)?;
    Ok(response.resources.iter().any(|resource| !resource.acls.is_empty()))
}

/// The iterations of a user's credential.
fn known(broker: &mut Raw, user: &str, scram: Scram) -> Result<Option<i32>> {
    let users = vec![UserName::default().with_name(text(user))];
    let request = DescribeUserScramCredentialsRequest::default().with_users(Some(users));
    let response = broker.call(0, &request)?;
    succeeded("asking for users", response.error_code, response.error_message)?;
    let credentials = response.results.iter().flat_map(|user| &user.credential_infos);
    Ok(credentials.into_iter().find(|one| one.mechanism == scram as i8).map(|one| one.iterations))
}

fn succeeded(what: &str, code: i16, message: Option<StrBytes>) -> Result<()> {
    ensure!(code == 0, "{what}: error {code}, {}", message.unwrap_or_default());
    Ok(())
}

fn all(mut answers: impl Iterator<Item = Result<bool>>) -> Result<bool> {
    answers.try_fold(true, |so_far, answer| Ok(so_far && answer?))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
