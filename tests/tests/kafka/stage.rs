//! What tests have in common: the cluster, the proxies in front of it, and what clients see without a proxy.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use anyhow::{Result, anyhow};
use serde_json::Value;
use skein_tests::{
    client::{self, Family},
    cluster,
    skein::{Form, Skein, config},
};

type Once<T> = Arc<OnceLock<Result<T, String>>>;

/// What `make` gives for `key`, made once.
fn once<K: Ord, T: Clone>(made: &Mutex<BTreeMap<K, Once<T>>>, key: K, make: impl FnOnce() -> Result<T>) -> Result<T> {
    let slot = made.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    // The map is free again: others may be made at the same time.
    let outcome = slot.get_or_init(|| make().map_err(|error| format!("{error:#}")));
    outcome.clone().map_err(|error| anyhow!(error))
}

/// A scenario of a family, and the proxy before the three brokers, if there is one.
type Run = (Family, &'static str, Option<Form>);

/// What a family's scenario sees of the three brokers.
pub(crate) fn direct(family: Family, scenario: &'static str) -> Result<Value> {
    seen((family, scenario, None))
}

/// What it sees through the proxy that stands in this form before them.
pub(crate) fn through(family: Family, scenario: &'static str, form: Form) -> Result<Value> {
    seen((family, scenario, Some(form)))
}

fn seen(run: Run) -> Result<Value> {
    static SEEN: Mutex<BTreeMap<Run, Once<Value>>> = Mutex::new(BTreeMap::new());
    once(&SEEN, run, || {
        let (family, scenario, form) = run;
        let cluster = cluster::three()?;
        match form {
            None => client::run(family, scenario, &cluster.bootstrap(), &[]),
            Some(form) => client::run_through(family, scenario, &proxy(form)?, cluster, &[]),
        }
    })
}

/// The bootstrap address of the proxy that stands in this form before the three brokers.
fn proxy(form: Form) -> Result<String> {
    static PROXIES: Mutex<BTreeMap<Form, Once<Arc<Skein>>>> = Mutex::new(BTreeMap::new());
    let proxy = once(&PROXIES, form, || Ok(Arc::new(Skein::start(&config(cluster::three()?, form)?)?)))?;
    Ok(proxy.bootstrap())
}
