//! Files and addresses that logins need: looked at when a configuration is loaded, so that what is wrong with one is a fault with
//! its place and not a login that fails.

use skein_config::Blueprint;
use skein_config::blueprint::{Cluster, Listener};
use skein_config::login::{Credentials, KeysFrom, ListenerLogin, TokenFrom};
use skein_link::tls::{self, Part};
use skein_link::{Endpoint, files};
use skein_login::{Keys, MOST_KEYS_BYTES};
use skein_settings::{Fault, Spanned};

use crate::gate;

/// What is wrong with what logins need. `wanted`: for what it is looked at.
pub(crate) fn faults(blueprint: &Blueprint, wanted: impl Fn(Part<'_>) -> bool) -> Vec<Fault> {
    let clusters = blueprint.clusters.iter().filter(|cluster| wanted(Part::Cluster(&cluster.name)));
    let seen = blueprint.virtual_clusters.iter().filter(|cluster| wanted(Part::VirtualCluster(&cluster.name)));
    let listeners = seen.flat_map(|cluster| &cluster.listeners);
    clusters.flat_map(of_cluster).chain(listeners.flat_map(of_listener)).collect()
}

fn of_cluster(cluster: &Cluster) -> Vec<Fault> {
    let logins = cluster.login.iter().flat_map(|login| login.service.iter().chain(login.map.values()));
    let endpoints = logins.filter_map(|login| match login {
        Credentials::Token(TokenFrom::Endpoint(endpoint)) => Some(endpoint),
        Credentials::Token(TokenFrom::Secret(_)) | Credentials::Password { .. } => None,
    });
    endpoints.filter_map(|endpoint| asked(endpoint.ca.as_ref(), Some(&endpoint.url)).err()).collect()
}

fn of_listener(listener: &Listener) -> Vec<Fault> {
    let ListenerLogin::Here(here) = &listener.login else { return Vec::new() };
    let users = here.users.as_ref().and_then(|path| {
        let what = gate::users_in(path.get_ref()).err()?;
        Some(Fault::new(what, path.span(), "name a file that `skein user add` makes, and that Skein may read"))
    });
    let keys = here.tokens.as_ref().and_then(|tokens| {
        let url = match tokens.keys.get_ref() {
            KeysFrom::Web(url) => Some(Spanned::new(tokens.keys.span(), url.clone())),
            KeysFrom::File(path) => {
                let read = files::read_at_most(path, MOST_KEYS_BYTES + 1).map_err(|error| error.to_string());
                if let Err(why) = read.and_then(|set| Keys::parse(&set)) {
                    let what = format!("{}: {why}", path.display());
                    return Some(Fault::new(what, tokens.keys.span(), "name a file with a JSON Web Key Set"));
                }
                None
            }
        };
        asked(tokens.ca.as_ref(), url.as_ref()).err()
    });
    users.into_iter().chain(keys).collect()
}

/// Whether something can be asked at an address, of whom a file says who is trusted there.
fn asked(ca: Option<&tls::NamedFile>, url: Option<&Spanned<String>>) -> Result<(), Fault> {
    tls::trusting(ca)?;
    let Some(url) = url else { return Ok(()) };
    let ca = ca.cloned();
    match Endpoint::new(url.get_ref(), move || tls::trusting(ca.as_ref())) {
        Ok(_) => Ok(()),
        Err(what) => Err(Fault::new(what, url.span(), "write an address of the web, `https://…`")),
    }
}
