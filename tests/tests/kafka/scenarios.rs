//! Every scenario of every family, without a proxy and through one: the results are equal, and no client gets past it.

use anyhow::Result;
use skein_tests::{
    client::{self, Family},
    cluster,
    skein::Form,
};

use crate::stage;

fn transparent(family: Family, scenario: &'static str, form: Form) -> Result<()> {
    let proxy = stage::through(form)?;
    let direct = stage::direct(family, scenario)?;
    let through = client::run_through(family, scenario, &proxy, cluster::three()?, &[])?;
    client::same(&direct, &through)
}

macro_rules! scenarios {
    ($family:ident: $($name:ident = $scenario:literal),+ $(,)?) => {$(
        mod $name {
            use super::{transparent, Family, Form, Result};

            #[test]
            fn is_the_same_through_a_bare_cluster() -> Result<()> {
                transparent(Family::$family, $scenario, Form::Bare)
            }

            #[test]
            fn is_the_same_in_disguise() -> Result<()> {
                transparent(Family::$family, $scenario, Form::Disguised)
            }
        }
    )+};
}

mod java {
    use super::*;

    scenarios! { Java:
        produce = "produce",
        seek = "seek",
        classic = "classic",
        kip848 = "kip848",
        idempotent = "idempotent",
        transactions = "transactions",
        admin = "admin",
        share = "share",
    }
}

mod librdkafka {
    use super::*;

    scenarios! { Librdkafka:
        produce = "produce",
        seek = "seek",
        classic = "classic",
        kip848 = "kip848",
        idempotent = "idempotent",
        transactions = "transactions",
        admin = "admin",
        share = "share",
    }
}
