//! Lists of node ids and ranges of ports as they are written.

use skein_protocol::ids::RealNodeId;

/// More brokers than this in one cluster are a slip of the pen.
const MOST_NODES: usize = 10_000;

/// Node ids in order: `"1-3, 7, 1001"`.
pub(crate) fn nodes(text: &str) -> Result<Vec<RealNodeId>, String> {
    let mut nodes = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let id = |text: &str| {
            let id: Result<u32, _> = text.trim().parse();
            id.ok().and_then(|id| i32::try_from(id).ok()).ok_or_else(|| format!("`{text}` is not a node id"))
        };
        let (from, to) = (id(from)?, id(to)?);
        if from > to || usize::try_from(to - from).is_ok_and(|more| nodes.len() + more >= MOST_NODES) {
            return Err(format!("`{part}` goes down, or makes more than {MOST_NODES} nodes"));
        }
        for id in from..=to {
            if nodes.contains(&RealNodeId(id)) {
                return Err(format!("node {id} stands twice"));
            }
            nodes.push(RealNodeId(id));
        }
    }
    if nodes.is_empty() { Err("no node id".to_owned()) } else { Ok(nodes) }
}

/// A range of ports: `"9100-9199"`, or one.
pub(crate) fn ports(text: &str) -> Result<(u16, u16), String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| {
        let port: Result<u16, _> = text.trim().parse();
        port.ok().filter(|port| *port > 0).ok_or_else(|| format!("`{}` is not a port", text.trim()))
    };
    let (from, to) = (port(from)?, port(to)?);
    if from > to { Err(format!("the range `{text}` goes down")) } else { Ok((from, to)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_ids_are_kept_in_their_order() {
        let ids = |list: &[i32]| Ok(list.iter().copied().map(RealNodeId).collect::<Vec<_>>());
        assert_eq!(nodes("1-3, 7, 1001"), ids(&[1, 2, 3, 7, 1001]));
        assert_eq!(nodes("5,0"), ids(&[5, 0]));
    }

    #[test]
    fn what_cannot_be_a_list_of_nodes_is_refused() {
        for text in ["", "a", "-1", "3-1", "1,1", "0-2000000000", "4294967296"] {
            assert!(nodes(text).is_err(), "{text}");
        }
        for text in ["", "0", "9-8", "70000", "a-b"] {
            assert!(ports(text).is_err(), "{text}");
        }
    }
}
