//! The file of users: who there is, and what is kept of their passwords.
//!
//! ```toml
//! [users]
//! alice = { scram-sha-256 = "SCRAM-SHA-256$8192:SALT$STOREDKEY:SERVERKEY", scram-sha-512 = "SCRAM-SHA-512$8192:…" }
//! ```
//!
//! `skein user add` writes it. The credentials serve SCRAM, and PLAIN as well: its password is salted and compared.

mod edited;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::hmac;
use skein_settings::{Fault, Item, Reader, Spanned, Table, Value, fields, named, quoted, text};
use toml::de::{DeTable, DeValue};

pub use self::edited::{Added, Listed, UserFile};
use crate::hash::{Hash, Hidden, random};
use crate::name::name;
use crate::stored::Stored;

/// Bytes of a file of users, some 40,000 of them.
pub const MOST_BYTES: usize = 16 << 20;
/// Faults that are told.
const MOST_TOLD: usize = 20;

/// What is kept of one user's password, by hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// For SCRAM-SHA-256.
    pub sha256: Option<Stored>,
    /// For SCRAM-SHA-512.
    pub sha512: Option<Stored>,
}

impl User {
    fn of(&self, hash: Hash) -> Option<&Stored> {
        match hash {
            Hash::Sha256 => self.sha256.as_ref(),
            Hash::Sha512 => self.sha512.as_ref(),
        }
    }

    /// The one that a password is compared with.
    fn any(&self) -> Option<&Stored> {
        Hash::ALL.into_iter().find_map(|hash| self.of(hash))
    }
}

/// All users.
#[derive(Clone, Default)]
pub struct Users {
    users: HashMap<String, User>,
    /// What credentials look like, for those who have none: of each hash, and of those that a password is compared with.
    usual: [Cost; 2],
    usual_any: Cost,
}

/// What a credential shows and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    hash: Hash,
    iterations: NonZeroU32,
    salt: usize,
}

impl Default for Cost {
    fn default() -> Self {
        let iterations = NonZeroU32::new(crate::stored::USUAL_ITERATIONS).unwrap_or(NonZeroU32::MIN);
        Self { hash: Hash::Sha256, iterations, salt: crate::stored::SALT }
    }
}

impl Cost {
    fn of(stored: &Stored) -> Self {
        Self { hash: stored.hash, iterations: stored.iterations, salt: stored.salt.len() }
    }

    /// That of most.
    fn usual<'s>(all: impl Iterator<Item = &'s Stored>) -> Option<Self> {
        let mut counted: BTreeMap<Self, usize> = BTreeMap::new();
        for stored in all {
            *counted.entry(Self::of(stored)).or_default() += 1;
        }
        counted.into_iter().max_by_key(|(_, count)| *count).map(|(cost, _)| cost)
    }
}

impl Users {
    /// These users, by their names in their one form.
    pub fn new(users: HashMap<String, User>) -> Self {
        let usual = Hash::ALL.map(|hash| {
            let usual = Cost::usual(users.values().filter_map(|user| user.of(hash)));
            usual.unwrap_or(Cost { hash, ..Cost::default() })
        });
        let usual_any = Cost::usual(users.values().filter_map(User::any)).unwrap_or_default();
        Self { users, usual, usual_any }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, by its lines, without anything of a credential.
    pub fn parse(file: &[u8]) -> Result<Self, Wrong> {
        read(file).map(Self::new)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// What is kept of a user for one hash.
    pub(crate) fn stored(&self, name: &str, hash: Hash) -> Option<&Stored> {
        self.users.get(name).and_then(|user| user.of(hash))
    }

    /// What a password of a user is compared with.
    pub(crate) fn any(&self, name: &str) -> Option<&Stored> {
        self.users.get(name).and_then(User::any)
    }
}

/// Their number, and no name.
impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("len", &self.users.len()).finish_non_exhaustive()
    }
}

/// What makes credentials for names that nobody has: the same for a name for as long as it is kept, and of no use.
///
/// One for a process, made before the first file of users is read: if it changed with the file, whoever asks twice would see
/// which names are real.
#[derive(Clone)]
pub struct Decoys(hmac::Key);

impl Decoys {
    /// A new one. `None`: the system gives no random bytes.
    pub fn new() -> Option<Self> {
        random::<64>().map(|key| Self(hmac::Key::new(hmac::HMAC_SHA512, &key)))
    }

    /// For SCRAM with one hash.
    pub(crate) fn stored(&self, users: &Users, name: &str, hash: Hash) -> Stored {
        let [sha256, sha512] = users.usual;
        let cost = match hash {
            Hash::Sha256 => sha256,
            Hash::Sha512 => sha512,
        };
        self.of(cost, name)
    }

    /// To compare a password with.
    pub(crate) fn any(&self, users: &Users, name: &str) -> Stored {
        self.of(users.usual_any, name)
    }

    fn of(&self, cost: Cost, name: &str) -> Stored {
        let made = |what: &str, length: usize| {
            let mut made = Vec::with_capacity(length);
            for block in 0_u8.. {
                if made.len() >= length {
                    break;
                }
                let tag = hmac::sign(&self.0, &[what.as_bytes(), &[0, block], name.as_bytes()].concat());
                made.extend(tag.as_ref().iter().take(length - made.len()));
            }
            made
        };
        let Cost { hash, iterations, salt } = cost;
        let mechanism = hash.mechanism();
        let stored_key = Hidden::new(made(&format!("{mechanism} stored key"), hash.length()));
        let server_key = Hidden::new(made(&format!("{mechanism} server key"), hash.length()));
        Stored { hash, iterations, salt: made(&format!("{mechanism} salt"), salt), stored_key, server_key }
    }
}

impl fmt::Debug for Decoys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoys(..)")
    }
}

/// What is wrong with a file of users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Each fault, with its line, counted from 1.
    pub faults: Vec<(usize, Fault)>,
}

impl Wrong {
    fn new(text: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort();
        faults.truncate(MOST_TOLD);
        let line = |fault: &Fault| 1 + text.bytes().take(fault.from).filter(|byte| *byte == b'\n').count();
        Self { faults: faults.into_iter().map(|fault| (line(&fault), fault)).collect() }
    }
}

/// All in one line, as a log wants it.
impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (line, fault)) in self.faults.iter().enumerate() {
            let between = if place == 0 { "" } else { "; " };
            write!(f, "{between}line {line}: {}: {}", fault.what, fault.right)?;
        }
        Ok(())
    }
}

impl std::error::Error for Wrong {}

/// The users of a file.
fn read(file: &[u8]) -> Result<HashMap<String, User>, Wrong> {
    let whole = |what: &str, right: &str| Wrong::new("", vec![Fault::new(what, 0..0, right)]);
    if file.len() > MOST_BYTES {
        return Err(whole("the file has more than 16 MiB", "keep fewer users in it"));
    }
    let text = std::str::from_utf8(file).map_err(|_| whole("the file is no UTF-8", "save it in UTF-8"))?;
    let root = DeTable::parse(text).map_err(|error| {
        // What stands there may be half of a credential, so it is not repeated.
        let at = error.span().unwrap_or_default();
        Wrong::new(text, vec![Fault::new(error.message(), at, "write it as TOML has it")])
    })?;
    let root = Spanned::new(0..0, DeValue::Table(root.into_inner()));
    let reader = Reader::new(&|_: &str| Err(std::env::VarError::NotPresent), "");
    let found = users().read(&Item::whole(&root, &reader));
    let mut faults = reader.into_faults();
    let mut users = HashMap::new();
    for (written, user) in found.into_iter().flatten() {
        match name(written.get_ref()) {
            Ok(name) if name == written.get_ref().as_str() => {
                users.extend(user.map(|user| (name.into_owned(), user)));
            }
            Ok(name) => {
                let what = format!("{} is another way to write {}", quoted(written.get_ref()), quoted(&name));
                faults.push(Fault::new(what, written.span(), "write it in this one form"));
            }
            Err(what) => faults.push(Fault::new(what, written.span(), "name a user by 1 to 255 bytes")),
        }
    }
    if faults.is_empty() { Ok(users) } else { Err(Wrong::new(text, faults)) }
}

/// What is read of a file.
fn users() -> impl Value<Out = BTreeMap<Spanned<String>, Option<User>>> {
    fields("a file of users", "a table `[users]`", |table: &mut Table<'_>| {
        let user = fields("a user", "a table with `scram-sha-256` or `scram-sha-512`", user);
        Some(table.required("users", named(0, user), "The users, by name.")?.into_inner())
    })
}

fn user(table: &mut Table<'_>) -> Option<User> {
    const WANTED: &str = "what `skein user add` writes";
    let sha256 = text(WANTED, "^SCRAM-SHA-256\\$", |text| Stored::parse(Hash::Sha256, text));
    let sha256 = table.optional("scram-sha-256", sha256, "What is kept of the password, for SCRAM-SHA-256 and PLAIN.");
    let sha512 = text(WANTED, "^SCRAM-SHA-512\\$", |text| Stored::parse(Hash::Sha512, text));
    let sha512 = table.optional("scram-sha-512", sha512, "The same for SCRAM-SHA-512.");
    Some(User { sha256: sha256?.map(Spanned::into_inner), sha512: sha512?.map(Spanned::into_inner) })
}

#[cfg(test)]
mod tests;
