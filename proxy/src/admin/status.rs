//! What is served, as JSON.

use serde_json::{Map, Value, json};

use crate::behind::Behind;
use crate::house::Board;
use crate::tenant::Tenant;

/// Whether clients are served, and how the clusters are. A cluster that is down makes nobody unready: another instance would
/// not reach it either.
pub(super) fn ready(board: &Board) -> (bool, Value) {
    let is_ready = board.is_ready && !board.is_draining;
    let clusters = board.clusters.iter().map(|behind| {
        let nodes = behind.asker.health();
        let up = nodes.values().filter(|answered| answered.outcome.is_ok()).count();
        let failure = behind.asker.failure();
        (
            behind.asker.cluster().name.to_string(),
            json!({ "nodes_up": up, "nodes_asked": nodes.len(), "failure": failure.as_deref() }),
        )
    });
    let clusters: Map<_, _> = clusters.collect();
    (is_ready, json!({ "ready": is_ready, "draining": board.is_draining, "clusters": clusters }))
}

/// Everything.
pub(super) fn status(board: &Board) -> Value {
    let tenants: Map<_, _> = board.tenants.iter().map(|tenant| (tenant.name.to_string(), served(tenant))).collect();
    let clusters: Map<_, _> =
        board.clusters.iter().map(|behind| (behind.asker.cluster().name.to_string(), cluster(behind))).collect();
    let ending: usize = board.ended.iter().map(|roll| roll.len()).sum();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ready": board.is_ready && !board.is_draining,
        "draining": board.is_draining,
        "connections_of_former_virtual_clusters": ending,
        "virtual_clusters": tenants,
        "clusters": clusters,
    })
}

fn served(tenant: &Tenant) -> Value {
    let listeners: Map<_, _> = tenant
        .listeners
        .iter()
        .map(|(name, addresses, names, guests)| {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            let mut listener = json!({ "bound": addresses, "connections": guests.len() });
            if let (Some(listener), false) = (listener.as_object_mut(), names.is_empty()) {
                let names: Vec<_> = names.iter().map(|name| &**name).collect();
                listener.insert("names".to_owned(), json!(names));
            }
            (name.to_string(), listener)
        })
        .collect();
    let clusters: Vec<_> = tenant.clusters().map(|(_, behind)| &*behind.asker.cluster().name).collect();
    json!({ "connections": tenant.roll.len(), "listeners": listeners, "clusters": clusters })
}

fn cluster(behind: &Behind) -> Value {
    let (known, health) = (behind.asker.known(), behind.asker.health());
    let nodes = behind.asker.cluster().nodes.iter().map(|node| {
        let address = behind.asker.cluster().addresses.get(node).or_else(|| known.nodes.get(node));
        let asked = health.get(node).map(|answered| &answered.outcome);
        let state = json!({
            "address": address.map(|address| format!("{}:{}", address.host, address.port)),
            "up": asked.map(Result::is_ok),
            "round_trip_seconds": asked.and_then(|outcome| outcome.as_ref().ok()).map(std::time::Duration::as_secs_f64),
            "error": asked.and_then(|outcome| outcome.as_ref().err()).map(|why| &**why),
        });
        (node.to_string(), state)
    });
    let nodes: Map<_, _> = nodes.collect();
    let apis = known.offer.iter().flat_map(|offer| &offer.apis);
    let apis: Map<_, _> = apis.map(|(key, versions)| (key.to_string(), json!([versions.from, versions.to]))).collect();
    json!({
        "cluster_id": known.cluster_id.as_deref(),
        "failure": behind.asker.failure().as_deref(),
        "nodes": nodes,
        "versions": apis,
    })
}
