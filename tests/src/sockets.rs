//! Whom a process is connected to, as Linux tells it.

use std::{collections::HashSet, fs, path::Path};

/// The remote ports of the established TCP connections of a process; none where the system does not tell.
pub fn remote_ports(pid: u32) -> HashSet<u16> {
    let process = Path::new("/proc").join(pid.to_string());
    let mine = inodes(&process.join("fd"));
    let tables = ["net/tcp", "net/tcp6"].map(|table| fs::read_to_string(process.join(table)).unwrap_or_default());
    let connections = tables.iter().flat_map(|table| table.lines().filter_map(connection));
    connections.filter(|(inode, _)| mine.contains(*inode)).map(|(_, port)| port).collect()
}

/// The inodes of a process's sockets.
fn inodes(descriptors: &Path) -> HashSet<String> {
    let entries = fs::read_dir(descriptors).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let socket = |target: &Path| Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    targets.filter_map(|target| socket(&target)).collect()
}

/// The inode and the remote port of an established connection.
fn connection(line: &str) -> Option<(&str, u16)> {
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …
    let fields: Vec<_> = line.split_whitespace().collect();
    let (_, port) = fields.get(2)?.rsplit_once(':')?;
    let established = *fields.get(3)? == "01";
    established.then_some((*fields.get(9)?, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    #[test]
    #[cfg(target_os = "linux")]
    fn a_connection_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(!super::remote_ports(std::process::id()).contains(&address.port()));
        let _stream = TcpStream::connect(address).unwrap();
        assert!(super::remote_ports(std::process::id()).contains(&address.port()));
    }
}
