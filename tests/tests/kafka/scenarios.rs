//! Every scenario of every family, without a proxy and through one: the results are equal, and no client gets past it.

use anyhow::Result;
use skein_tests::{
    client::{self, Family},
    cluster,
    skein::Form,
};

use crate::stage;

fn transparent(family: Family, scenario: &'static str, form: Form) -> Result<()> {
    client::same(&stage::direct(family, scenario)?, &stage::through(family, scenario, form)?)
}

/// A difference here is the scenario's, not the proxy's.
fn repeats(family: Family, scenario: &'static str) -> Result<()> {
    let again = client::run(family, scenario, &cluster::three()?.bootstrap(), &[])?;
    client::same(&stage::direct(family, scenario)?, &again)
}

macro_rules! families {
    ($($module:ident $family:ident: $($scenario:ident),+;)+) => {
        /// The families, and the scenarios of each.
        pub(crate) const ALL: &[(Family, &[&str])] = &[$((Family::$family, &[$(stringify!($scenario)),+])),+];

        $(mod $module {$(
            mod $scenario {
                use super::super::{transparent, repeats, Family, Form, Result};

                #[test]
                fn is_the_same_through_a_bare_cluster() -> Result<()> {
                    transparent(Family::$family, stringify!($scenario), Form::Bare)
                }

                #[test]
                fn is_the_same_in_disguise() -> Result<()> {
                    transparent(Family::$family, stringify!($scenario), Form::Disguised)
                }

                #[test]
                #[ignore = "shows that results do not depend on the run; says nothing of the proxy"]
                fn is_the_same_again() -> Result<()> {
                    repeats(Family::$family, stringify!($scenario))
                }
            }
        )+})+
    };
}

families! {
    java Java: produce, seek, classic, kip848, idempotent, transactions, admin, share;
    librdkafka Librdkafka: produce, seek, classic, kip848, idempotent, transactions, admin, share;
    franz_go FranzGo: produce, seek, classic, kip848, idempotent, transactions, admin, share;
    kafkajs KafkaJs: produce, seek, classic, kip848, idempotent, transactions, admin, share;
    kafka_python KafkaPython: produce, seek, classic, kip848, idempotent, transactions, admin, share;
    aiokafka Aiokafka: produce, seek, classic, kip848, idempotent, transactions, admin, share;
    streams Streams: streams;
}
