use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use skein_routing::kind::Registry;

use super::*;

/// Three sockets on ports of their own: bootstrap, node, admin.
fn sockets() -> [TcpListener; 3] {
    [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
}

fn addresses(sockets: &[TcpListener; 3]) -> [SocketAddr; 3] {
    sockets.each_ref().map(|socket| socket.local_addr().unwrap())
}

/// A file that has these bound, in front of a broker that is not there.
fn configuration([bootstrap, node, admin]: [SocketAddr; 3]) -> Configuration {
    let node = node.port();
    let text = format!(
        "[clusters.one]\nbootstrap = [\"127.0.0.1:1\"]\nnodes = \"1\"\n\
         [virtual-clusters.main]\nid = \"main-1\"\ntarget.cluster = \"one\"\n\
         [virtual-clusters.main.listeners.plain]\nbind = \"{bootstrap}\"\nadvertise = \"127.0.0.1\"\n\
         ports = \"{node}-{node}\"\n[admin]\nbind = \"{admin}\"\n"
    );
    let loaded = skein_config::load("app.toml", text.as_bytes(), &Registry::standard(), &|_: &str| {
        Err(std::env::VarError::NotPresent)
    });
    loaded.unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Starts it once more when another process has taken a port meanwhile.
async fn started() -> ([SocketAddr; 3], App) {
    loop {
        let addresses = addresses(&sockets());
        if let Ok(app) = App::start(configuration(addresses)).await {
            return (addresses, app);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_is_gone() {
    let (addresses, app) = started().await;
    for address in addresses {
        TcpStream::connect(address).unwrap();
    }
    let (cluster, house) = (Arc::downgrade(&app.clusters["one"]), Arc::downgrade(&app.house));
    drop(app);
    // Tasks end a little later, and connections from above when they see that their clients have gone.
    let gone = async {
        let is_closed =
            |address| TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        while cluster.strong_count() + house.strong_count() > 0 || !addresses.into_iter().all(is_closed) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    App::start(configuration(addresses)).await.unwrap();
}

#[tokio::test]
async fn the_admin_listener_is_bound_before_any_client_is_let_in() {
    let taken = sockets();
    let not_bound = App::start(configuration(addresses(&taken))).await.err().unwrap();
    assert!(matches!(&not_bound, NotServed::NotBound { of, .. } if of == "the admin listener"));
}
