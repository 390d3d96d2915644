//! The file of users: who there is, and what is kept of their passwords.
//!
//! ```toml
//! decoys = "…"
//!
//! [users]
//! alice = { scram-sha-256 = "SCRAM-SHA-256$8192:SALT$STOREDKEY:SERVERKEY", scram-sha-512 = "SCRAM-SHA-512$8192:…" }
//! ```
//!
//! `skein user add` writes it. The credentials serve SCRAM, and PLAIN as well: its password is salted and compared. What names
//! see that nobody has is made of `decoys`, so that all who have a copy of the file say the same of them.

mod edited;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::hmac;
use skein_settings::{Fault, Item, Reader, Spanned, Table, Value, fields, named, quoted, text};
use toml::de::{DeTable, DeValue};

pub use self::edited::{Added, Listed, UserFile};
use crate::hash::{Hash, Hidden, base64, random, unbase64};
use crate::name::name;
use crate::stored::Stored;

/// Bytes of a file of users, some 40,000 of them.
pub const MOST_BYTES: usize = 16 << 20;
/// Faults that are told.
const MOST_TOLD: usize = 20;
/// Bytes of what decoys are made of, where it is in a file.
const DECOYS: usize = 32;

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
    /// What those see who are nobody; `None`: the file does not say.
    decoys: Option<Decoys>,
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
        Self { users, usual, usual_any, decoys: None }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, by its lines, without anything of a credential.
    pub fn parse(file: &[u8]) -> Result<Self, Wrong> {
        read(file).map(|Read { users, decoys }| Self { decoys, ..Self::new(users) })
    }

    /// Whether the file says what those see who are nobody. If it does not, each instance of Skein shows them something else:
    /// who asks two of them learns which names are real.
    pub fn has_decoys(&self) -> bool {
        self.decoys.is_some()
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

    /// What those see who are nobody: what the file says, or else these.
    pub(crate) fn decoys<'d>(&'d self, otherwise: &'d Decoys) -> &'d Decoys {
        self.decoys.as_ref().unwrap_or(otherwise)
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
/// A file of users has what makes them, kept for as long as the file is: if they changed, or differed between two instances
/// of Skein, whoever asks twice would see which names are real. For a file without it there is one for a process.
#[derive(Clone)]
pub struct Decoys(hmac::Key);

impl Decoys {
    /// A new one. `None`: the system gives no random bytes.
    pub fn new() -> Option<Self> {
        random::<64>().map(|key| Self::of_key(&key))
    }

    /// What a file is given that has none, in base64. `None`: the system gives no random bytes.
    fn written() -> Option<String> {
        random::<DECOYS>().map(|key| base64(&key))
    }

    /// Those of a file.
    fn parse(text: &str) -> Result<Self, String> {
        let key = unbase64(text).map(Hidden::new).filter(|key| key.len() == DECOYS);
        key.map(|key| Self::of_key(&key)).ok_or_else(|| format!("what is not {DECOYS} bytes in base64"))
    }

    fn of_key(key: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA512, key))
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

/// What a file says.
struct Read {
    users: HashMap<String, User>,
    decoys: Option<Decoys>,
}

fn read(file: &[u8]) -> Result<Read, Wrong> {
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
    let (decoys, found) = found.unwrap_or_default();
    for (written, user) in found {
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
    if faults.is_empty() { Ok(Read { users, decoys }) } else { Err(Wrong::new(text, faults)) }
}

/// The users as they are written, and those whom some fault is told of.
type Written = BTreeMap<Spanned<String>, Option<User>>;

/// What is read of a file.
fn users() -> impl Value<Out = (Option<Decoys>, Written)> {
    fields("a file of users", "a table `[users]`", |table: &mut Table<'_>| {
        let decoys = text("what `skein user add` writes", "^[A-Za-z0-9+/]{43}=$", Decoys::parse);
        let decoys = table.optional("decoys", decoys, "What names see that nobody has is made of this, for ever.");
        let user = fields("a user", "a table with `scram-sha-256` or `scram-sha-512`", user);
        let users = table.required("users", named(0, user), "The users, by name.")?.into_inner();
        Some((decoys?.map(Spanned::into_inner), users))
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
