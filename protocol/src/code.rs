//! Kafka's error codes: those that Skein makes itself, or must tell from others.

use std::fmt;

/// An error code, as responses carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i16);

macro_rules! codes {
    ($($name:ident $code:literal),* $(,)?) => {
        impl Code {
            $(#[doc = concat!("Error ", stringify!($code), ".")] pub const $name: Self = Self($code);)*
        }

        impl fmt::Display for Code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($code => f.write_str(stringify!($name)),)*
                    other => write!(f, "error {other}"),
                }
            }
        }
    };
}

codes! {
    NONE 0, UNKNOWN_TOPIC_OR_PARTITION 3, LEADER_NOT_AVAILABLE 5, NOT_LEADER_OR_FOLLOWER 6, REQUEST_TIMED_OUT 7,
    COORDINATOR_LOAD_IN_PROGRESS 14, COORDINATOR_NOT_AVAILABLE 15, NOT_COORDINATOR 16, TOPIC_AUTHORIZATION_FAILED 29,
    GROUP_AUTHORIZATION_FAILED 30, CLUSTER_AUTHORIZATION_FAILED 31,
    UNSUPPORTED_SASL_MECHANISM 33, ILLEGAL_SASL_STATE 34, UNSUPPORTED_VERSION 35, NOT_CONTROLLER 41, INVALID_REQUEST 42,
    POLICY_VIOLATION 44, INVALID_TXN_STATE 48, TRANSACTIONAL_ID_AUTHORIZATION_FAILED 53, OPERATION_NOT_ATTEMPTED 55, SASL_AUTHENTICATION_FAILED 58, TRANSACTION_ABORTABLE 120, INVALID_REGULAR_EXPRESSION 128,
    FETCH_SESSION_ID_NOT_FOUND 70, UNKNOWN_TOPIC_ID 100, MISMATCHED_ENDPOINT_TYPE 114, REBOOTSTRAP_REQUIRED 129,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
