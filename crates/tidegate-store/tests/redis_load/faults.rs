//! One server that dies, stands still, forgets, or cannot be reached.

use tidegate_test_servers::{Keep, Kind, Options, Relay};

use super::*;

#[test]
fn a_server_that_is_killed_and_keeps_nothing_lets_the_limit_pass_once_more() {
    let mut server = Server::redis();
    let crowd = Crowd::start(&single(&server));
    crowd.gets_going();
    server.restart();
    let recovered = crowd.recovers();
    crowd
        .ends("killed and started again, nothing kept", recovered)
        .holds(Bound::OnceMore);
}

#[test]
fn a_server_that_is_killed_and_keeps_nothing_lets_nothing_more_pass_where_policies_are_cautious() {
    let mut server = Server::redis();
    let crowd = Crowd::cautious(&single(&server));
    crowd.gets_going();
    server.restart();
    let recovered = crowd.recovers();
    crowd
        .ends("killed and started again, nothing kept; cautious", recovered)
        .holds(Bound::None);
}

#[test]
fn a_server_that_is_killed_and_keeps_everything_lets_nothing_more_pass() {
    let options = Options {
        keep: Keep::Everything,
        ..Options::default()
    };
    let mut server = Server::start(Kind::Redis70, options);
    let crowd = Crowd::start(&single(&server));
    crowd.gets_going();
    server.restart();
    let recovered = crowd.recovers();
    crowd
        .ends("killed and started again, all kept", recovered)
        .holds(Bound::None);
}

#[test]
fn a_server_that_stands_still_lets_nothing_more_pass() {
    let server = Server::redis();
    let crowd = Crowd::start(&single(&server));
    crowd.gets_going();
    server.stop();
    endure();
    server.cont();
    let recovered = crowd.recovers();
    crowd.ends("stood still for 2 s", recovered).holds(Bound::None);
}

#[test]
fn a_server_that_is_emptied_lets_the_limit_pass_once_more() {
    let server = Server::redis();
    let crowd = Crowd::start(&single(&server));
    crowd.gets_going();
    let _: () = server.ask(&["FLUSHALL"]);
    let recovered = crowd.recovers();
    crowd.ends("emptied (FLUSHALL)", recovered).holds(Bound::OnceMore);
}

#[test]
fn a_network_that_loses_everything_lets_nothing_more_pass() {
    let server = Server::redis();
    let relay = Relay::before(server.address());
    let crowd = Crowd::start(&through(&relay));
    crowd.gets_going();
    relay.hold();
    endure();
    relay.heal();
    let recovered = crowd.recovers();
    crowd.ends("network silent for 2 s", recovered).holds(Bound::None);
}

#[test]
fn connections_that_are_cut_let_nothing_more_pass() {
    let server = Server::redis();
    let relay = Relay::before(server.address());
    let crowd = Crowd::start(&through(&relay));
    crowd.gets_going();
    relay.cut();
    endure();
    relay.heal();
    let recovered = crowd.recovers();
    crowd
        .ends("connections cut and refused for 2 s", recovered)
        .holds(Bound::None);
}

fn through(relay: &Relay) -> Settings {
    let between = Address::new("127.0.0.1", relay.address().port());
    Settings::new(Servers::Single(between))
}
