use super::*;

fn fleet(urls: &[&str], change: impl FnOnce(&mut Upstream)) -> Fleet {
    let mut upstream: Upstream = urls[0].parse().unwrap();
    for url in &urls[1..] {
        let more: Upstream = url.parse().unwrap();
        upstream.servers.extend(more.servers);
    }
    upstream.name = "app".into();
    change(&mut upstream);
    Fleet::new(&Forwarding::only(upstream), &[])
}

const TWO: [&str; 2] = ["http://127.0.0.1:1", "http://127.0.0.1:2"];

fn fail(group: &Group, index: usize, times: u32) {
    for _ in 0..times {
        group.failed(index, "test");
    }
}

#[test]
fn a_server_is_ejected_after_its_failures_in_a_row_and_a_success_begins_anew() {
    let fleet = fleet(&TWO, |_| {});
    let group = &fleet.groups[0];
    fail(group, 0, 4);
    group.succeeded(0);
    fail(group, 0, 4);
    assert_eq!(group.usable(), 0b11);
    fail(group, 0, 1);
    assert_eq!(group.usable(), 0b10);
    let condition = fleet.servers().map(|report| report.condition).collect::<Vec<_>>();
    assert_eq!(condition, [Condition::Ejected, Condition::Usable]);
}

#[test]
fn the_last_usable_server_is_never_ejected() {
    let fleet = fleet(&TWO, |_| {});
    let group = &fleet.groups[0];
    fail(group, 0, 5);
    fail(group, 1, 50);
    assert_eq!(group.usable(), 0b10);
    assert!(fleet.is_usable());
}

#[test]
fn a_server_that_fails_after_its_return_is_ejected_at_once_and_for_twice_as_long_up_to_a_bound() {
    let fleet = fleet(&TWO, |_| {});
    let group = &fleet.groups[0];
    fail(group, 0, 5);
    let mut pauses = vec![group.pause(0).as_secs()];
    for _ in 0..6 {
        group.members[0].returns(4);
        fail(group, 0, 1);
        assert!(group.members[0].is_ejected());
        pauses.push(group.pause(0).as_secs());
    }
    assert_eq!(
        pauses,
        [10, 20, 40, 80, 160, MAX_PAUSE.as_secs(), MAX_PAUSE.as_secs()]
    );
    group.members[0].returns(4);
    group.succeeded(0);
    fail(group, 0, 5);
    assert_eq!(group.pause(0).as_secs(), 10);
}

#[test]
fn ejection_can_be_switched_off() {
    let fleet = fleet(&TWO, |upstream| upstream.ejection = None);
    fail(&fleet.groups[0], 0, 1000);
    assert_eq!(fleet.groups[0].usable(), 0b11);
}

#[test]
fn what_is_the_same_after_a_reload_is_the_same_server() {
    let before = fleet(&TWO, |_| {});
    let same = fleet(&TWO, |_| {}).keeping(&before);
    assert!(Arc::ptr_eq(&same.groups[0], &before.groups[0]));

    let grown = fleet(&[TWO[1], "http://127.0.0.1:3"], |upstream| upstream.retries = 3).keeping(&before);
    assert!(!Arc::ptr_eq(&grown.groups[0], &before.groups[0]));
    assert!(Arc::ptr_eq(
        &grown.groups[0].members[0],
        &before.groups[0].members[1]
    ));

    let renamed = fleet(&TWO, |upstream| upstream.name = "other".into()).keeping(&before);
    assert!(!Arc::ptr_eq(
        &renamed.groups[0].members[0],
        &before.groups[0].members[0]
    ));
}

#[test]
fn a_server_whose_files_changed_is_another_server() {
    let anybody = TlsClient::new(&Material {
        insecure: true,
        ..Material::default()
    });
    let upstream: Upstream = "https://a.test".parse().unwrap();
    let forwarding = Forwarding::only(upstream);
    let before = Fleet::new(&forwarding, &[anybody.as_ref().ok().cloned()]);
    let same = Fleet::new(&forwarding, &[anybody.ok()]).keeping(&before);
    assert!(Arc::ptr_eq(&same.groups[0], &before.groups[0]));
    let other = Fleet::new(&forwarding, &[None]).keeping(&before);
    assert!(!Arc::ptr_eq(
        &other.groups[0].members[0],
        &before.groups[0].members[0]
    ));
}

#[test]
fn a_name_that_is_nowhere_keeps_its_last_addresses() {
    let fleet = fleet(&["http://a.test"], |_| {});
    let server = &fleet.groups[0].members[0];
    server.not_found();
    assert_eq!(server.condition(), Condition::Unresolved);
    let (one, two) = (([127, 0, 0, 1], 80).into(), ([127, 0, 0, 2], 80).into());
    assert!(server.found_at(&[one, two]));
    let generation = server.generation();
    assert!(!server.found_at(&[two, one]), "the order is no news");
    server.not_found();
    assert!(server.is_usable() && server.is_at(one));
    assert_eq!(server.generation(), generation);
    assert!(server.found_at(&[two]));
    assert!(!server.is_at(one) && server.generation() > generation);
}

#[test]
fn requests_are_welcome_where_the_upstream_of_the_rest_has_a_usable_server() {
    let two = fleet(&TWO, |_| {});
    assert!(two.is_ready());
    let [one, other] = &two.groups[0].members[..] else {
        panic!("two servers");
    };
    one.sickens();
    assert!(two.is_ready());
    other.sickens();
    assert!(!two.is_ready());
    one.recovers();
    assert!(two.is_ready());

    let mut forwarding = Forwarding::only(TWO[0].parse().unwrap());
    forwarding.upstreams.push(TWO[1].parse().unwrap());
    let routed = Fleet::new(&forwarding, &[]);
    routed.groups[0].members[0].sickens();
    assert!(!routed.is_ready(), "another upstream does not help");
    forwarding.default = None;
    let only_routes = Fleet::new(&forwarding, &[]);
    only_routes.groups[0].members[0].sickens();
    assert!(only_routes.is_ready());
    only_routes.groups[1].members[0].sickens();
    assert!(!only_routes.is_ready());
}

#[test]
fn tries_of_all_pools_are_summed_up() {
    let fleet = fleet(&TWO, |_| {});
    let server = &fleet.groups[0].members[1];
    let (one, other) = (server.tally(), server.tally());
    one.one();
    other.one();
    drop(other);
    let requests: Vec<u64> = fleet.servers().map(|report| report.requests).collect();
    assert_eq!(requests, [0, 2]);
}
