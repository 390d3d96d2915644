//! Who is there: SASL of both sides, users, tokens, and the names in certificates.
//!
//! ```text
//!   a client of Skein                                        a cluster
//!
//!   Judge ── begin(mechanism) ──► Exchange                   Credential ── Attempt::begin ──► (bytes, Attempt)
//!     users, decoys,                 │ step(now, message)                                        │ step(answer)
//!     rules of tokens, keys          ▼                                                           ▼
//!                         Challenge(bytes, Exchange)                                  Send(bytes, Attempt)
//!                         Done(bytes, LoggedIn)  ──── passable ───► Credential        Done
//!                         Failed(Failure)                                             Failed(Mistrust)
//!                         WantsKeys(AwaitingKeys) ── resume(now, keys) ─┐
//!                              ▲ the shell fetches newer keys, once     └► one of the others
//!
//!   Certificate ── Mapping::principal ──► the name of who has it
//!   UserFile (to be edited) ─► Users (to be judged by) ─► Judge
//! ```
//!
//! Bytes go in and come out by value: a state is spent by its step, so no step can be done twice, and no login goes on after it
//! has ended. Nothing here opens, waits or reads a clock; all that comes from outside besides its arguments is random bytes.
//!
//! Invariants: what an unknown user sees and waits for is what a known one with a wrong password does; secrets are compared in a
//! time that says nothing of them, and are in no `Debug`, no error and no log line; every length that a peer can choose is bounded
//! before it is worked on; what costs more than a millisecond says so before it is done (`is_costly`); a token is judged by a
//! public key and an algorithm of that key's kind, never by what the token says of itself.
//!
//! Limits on tries belong to whoever counts them: [`Why::is_a_guess`] says what counts.

mod attempt;
mod bearer;
mod certificate;
mod gs2;
mod hash;
mod judge;
mod keys;
mod mechanism;
mod name;
mod scram;
mod stored;
mod token;
mod users;
mod why;

pub use attempt::{Attempt, Credential, Mistrust, Next};
pub use certificate::{Certificate, Mapping, Source};
pub use hash::Hash;
pub use judge::{AwaitingKeys, Exchange, Failure, Judge, LoggedIn, MOST_MESSAGE, Step, Tokens};
pub use keys::{Keys, MOST_BYTES as MOST_KEYS_BYTES};
pub use mechanism::Mechanism;
pub use name::{MOST_NAME, MOST_PASSWORD, name, password};
pub use stored::{ITERATIONS, Stored, USUAL_ITERATIONS};
pub use token::{MOST_TOKEN, TokenFault, TokenRules, end_of};
pub use users::{Added, Decoys, Listed, MOST_BYTES as MOST_USERS_BYTES, User, UserFile, Users, Wrong};
pub use why::Why;

/// The principal of a client that does not log in, as Kafka names it.
pub const ANONYMOUS: &str = "ANONYMOUS";
