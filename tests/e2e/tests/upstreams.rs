//! Two real origins behind one gateway.

use std::fs;

use tempfile::TempDir;
use tidegate_e2e::{Gateway, Nginx, until, wrk};

const CONNECTIONS: u64 = 16;

fn before(servers: [&Nginx; 2]) -> (Gateway, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tidegate.yaml");
    let [one, two] = servers.map(Nginx::url);
    let text = format!(
        "gateway: {{ upstream: app }}\n\
         upstreams: {{ app: {{ servers: [\"{one}\", \"{two}\"], ejection: {{ failures: 3, for: 200ms }} }} }}\n\
         policies: []\n"
    );
    fs::write(&file, text).unwrap();
    (
        Gateway::start(&["serve", "--config", file.to_str().unwrap()]),
        folder,
    )
}

#[test]
fn a_server_that_is_killed_under_load_costs_at_most_what_it_had_in_flight_and_it_comes_back() {
    let (one, mut two) = (Nginx::start(), Nginx::start());
    let (gateway, _folder) = before([&one, &two]);
    let url = gateway.url("/load");
    let load = || {
        let connections = CONNECTIONS.to_string();
        let arguments = [
            "--threads",
            "1",
            "--connections",
            &connections,
            "--duration",
            "3s",
            &url,
        ];
        wrk(&arguments)
    };
    let counts = std::thread::scope(|scope| {
        let loading = scope.spawn(load);
        until("both are under load", || (two.log().len() > 200).then_some(()));
        two.kill();
        loading.join().unwrap()
    });
    assert!(counts.passed > 1000, "no load to speak of: {counts:?}");
    assert!(counts.refused + counts.broken <= CONNECTIONS, "{counts:?}");

    let answered = two.log().len();
    two.restart();
    let counts = load();
    assert_eq!((counts.refused, counts.broken), (0, 0), "{counts:?}");
    assert!(two.log().len() > answered + 100, "it does not come back");
}
