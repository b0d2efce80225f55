//! A network that loses packets and tells nobody: the server is in a network of its own, and the wires to it are cut.

use tidegate_test_servers::{Kind, Options};

use super::*;

/// So long that kernels try again only five seconds later what was on its way: an instance that waited for them would be late.
const LONG: Duration = Duration::from_secs(7);

fn apart(wires: usize) -> Server {
    Server::apart(Kind::Redis70, Options::default(), wires)
}

fn over(server: &Server, wire: usize) -> Settings {
    let address = server.address_over(wire);
    let address = Address::new(address.ip().to_string(), address.port());
    Settings::new(Servers::Single(address))
}

#[test]
fn a_cut_network_lets_nothing_more_pass() {
    let server = apart(1);
    let crowd = Crowd::start(&over(&server, 0));
    crowd.gets_going();
    server.wire(0).cut();
    endure();
    server.wire(0).mend();
    let recovered = crowd.recovers();
    let report = crowd.ends("network cut for 2 s", recovered);
    assert!(
        report.instances.iter().all(|seen| seen.undecided >= STALL),
        "{report:?}"
    );
    report.holds(Bound::None);
}

#[test]
fn instances_do_not_wait_for_the_kernel_after_a_network_was_cut_for_long() {
    let server = apart(1);
    let crowd = Crowd::start(&over(&server, 0));
    crowd.gets_going();
    server.wire(0).cut();
    endure_for(LONG);
    server.wire(0).mend();
    let recovered = crowd.recovers();
    crowd.ends("network cut for 7 s", recovered).holds(Bound::None);
}

#[test]
fn a_network_that_loses_only_answers_lets_nothing_more_pass() {
    let server = apart(1);
    let crowd = Crowd::start(&over(&server, 0));
    crowd.gets_going();
    server.wire(0).cut_answers();
    endure();
    server.wire(0).mend();
    let recovered = crowd.recovers();
    crowd.ends("answers lost for 2 s", recovered).holds(Bound::None);
}

#[test]
fn one_instance_is_cut_off_and_the_other_goes_on_within_the_limit() {
    let server = apart(2);
    let crowd = Crowd::on_ways([&over(&server, 0), &over(&server, 1)]);
    crowd.gets_going();
    server.wire(0).cut();
    endure();
    server.wire(0).mend();
    let recovered = crowd.recovers();
    let report = crowd.ends("network of one instance cut for 2 s", recovered);
    let [cut_off, other] = report.instances;
    assert!(cut_off.undecided >= STALL, "{report:?}");
    assert!(other.undecided < STALL / 2, "{report:?}");
    report.holds(Bound::None);
}
