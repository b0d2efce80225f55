//! Files change under a running gateway: what they say holds from then on, and nobody notices but by their limits.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::process::{Running, get, get_with, run_with_input, stdout};

const RELOADED: &str = "reloaded";
const UNCHANGED: &str = "nothing to reload: the files are as they are served";
const KEPT: &str = "not reloaded: the files cannot be used, what was loaded before goes on";
const NEEDS_RESTART: &str = "this setting has changed and holds only after a restart";

/// A demo whose policy file is in a folder of its own.
struct Demo {
    folder: TempDir,
    gateway: Running,
}

/// A policy file with one policy that lets `quota` requests pass.
fn policies(quota: u32) -> String {
    format!(
        "policies: [{{ name: api, key: [client.ip], limit: {{ algorithm: sliding_window_log, quota: {quota}, window: 1h }} }}]"
    )
}

impl Demo {
    fn start(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tidegate.yaml");
        fs::write(&file, text).unwrap();
        Self::serving(folder, &file)
    }

    fn serving(folder: TempDir, file: &Path) -> Self {
        let gateway = Running::start(["demo", "--config", file.to_str().unwrap()]);
        Self { folder, gateway }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, text: &str) {
        fs::write(self.path("tidegate.yaml"), text).unwrap();
    }

    /// Waits for a reload and gives its generation.
    fn reloaded(&self) -> u64 {
        self.gateway.process.logged(RELOADED)["generation"]
            .as_u64()
            .unwrap()
    }

    /// The same of one that came without being asked for or looked for. Not for the first: the reloader may still be starting.
    fn reloaded_at_once(&self) -> u64 {
        let said = self.gateway.process.logged(RELOADED);
        assert_eq!(said["noticed"], "told");
        said["generation"].as_u64().unwrap()
    }

    fn kept(&self) {
        assert_eq!(self.gateway.process.logged(KEPT)["generation"], 1);
    }

    fn statuses(&self, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.gateway.get("/").status).collect()
    }
}

#[test]
fn a_file_that_is_written_again_holds_at_once_and_what_was_spent_stays_spent() {
    let demo = Demo::start(&policies(2));
    assert_eq!(demo.statuses(3), [200, 200, 429]);
    demo.write(&policies(3));
    assert_eq!(demo.reloaded(), 2);
    assert_eq!(demo.statuses(2), [200, 429]);
    demo.write(&policies(1));
    assert_eq!(demo.reloaded_at_once(), 3);
    assert_eq!(demo.statuses(1), [429]);
    assert_eq!(demo.gateway.stop(), Some(0));
}

#[test]
fn a_file_that_an_editor_replaces_by_another_is_seen_each_time() {
    let demo = Demo::start(&policies(1));
    for generation in 2..5 {
        fs::write(demo.path("new"), policies(u32::try_from(generation).unwrap())).unwrap();
        fs::rename(demo.path("new"), demo.path("tidegate.yaml")).unwrap();
        let reloaded = match generation {
            2 => demo.reloaded(),
            _ => demo.reloaded_at_once(),
        };
        assert_eq!(reloaded, generation);
    }
    assert_eq!(demo.statuses(5), [200, 200, 200, 200, 429]);
}

#[test]
fn a_link_that_kubernetes_swaps_is_seen_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().to_owned();
    let publish = |version: &str, quota| {
        fs::create_dir(top.join(version)).unwrap();
        fs::write(top.join(version).join("tidegate.yaml"), policies(quota)).unwrap();
        symlink(version, top.join("..data_tmp")).unwrap();
        fs::rename(top.join("..data_tmp"), top.join("..data")).unwrap();
    };
    publish("..1", 1);
    symlink("..data/tidegate.yaml", top.join("tidegate.yaml")).unwrap();
    let demo = Demo::serving(folder, &top.join("tidegate.yaml"));
    assert_eq!(demo.statuses(2), [200, 429]);
    publish("..2", 2);
    fs::remove_dir_all(top.join("..1")).unwrap();
    assert_eq!(demo.reloaded(), 2);
    publish("..3", 4);
    assert_eq!(demo.reloaded_at_once(), 3);
    assert_eq!(demo.statuses(4), [200, 200, 200, 429]);
}

#[test]
fn a_folder_is_one_configuration_and_files_that_come_and_go_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().to_owned();
    fs::write(top.join("50-api.yaml"), policies(2)).unwrap();
    fs::write(top.join("10-store.yaml"), "store: memory\n").unwrap();
    let demo = Demo::serving(folder, &top);
    assert_eq!(demo.statuses(3), [200, 200, 429]);
    fs::write(
        top.join("60-more.yaml"),
        policies(1).replace("name: api", "name: more"),
    )
    .unwrap();
    assert_eq!(demo.reloaded(), 2);
    fs::write(top.join("50-api.yaml"), policies(9)).unwrap();
    assert_eq!(demo.reloaded_at_once(), 3);
    assert_eq!(demo.statuses(2), [200, 429], "both files limit");
    fs::remove_file(top.join("60-more.yaml")).unwrap();
    assert_eq!(demo.reloaded_at_once(), 4);
    assert_eq!(demo.statuses(1), [200]);
    fs::write(top.join("70-store.yaml"), "store: memory\n").unwrap();
    assert_eq!(demo.gateway.process.logged(KEPT)["generation"], 4);
}

#[test]
fn without_its_file_the_gateway_goes_on_and_a_new_one_is_seen() {
    let demo = Demo::start(&policies(2));
    fs::remove_file(demo.path("tidegate.yaml")).unwrap();
    demo.kept();
    assert_eq!(demo.statuses(1), [200]);
    demo.write(&policies(3));
    assert_eq!(demo.reloaded(), 2);
    assert_eq!(demo.statuses(3), [200, 200, 429]);
}

#[test]
fn without_its_folder_the_gateway_goes_on_and_a_new_one_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("conf");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("tidegate.yaml"), policies(2)).unwrap();
    let demo = Demo::serving(folder, &inner.join("tidegate.yaml"));
    fs::remove_dir_all(&inner).unwrap();
    demo.kept();
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("tidegate.yaml"), policies(1)).unwrap();
    assert_eq!(demo.reloaded(), 2);
    assert_eq!(demo.statuses(2), [200, 429]);
}

#[test]
fn a_broken_file_changes_nothing_and_its_repair_is_seen() {
    let demo = Demo::start(&policies(2));
    demo.write("policies: [{ name: api, key: [client.ip], limt: { quota: 5, window: 1s } }]");
    let problem = demo.gateway.process.logged("a policy has no field `limt`");
    assert_eq!(problem["level"], "ERROR");
    assert_eq!(
        (problem["line"].as_u64(), problem["column"].as_u64()),
        (Some(1), Some(43))
    );
    demo.kept();
    assert_eq!(demo.statuses(3), [200, 200, 429]);
    demo.write(&policies(3));
    assert_eq!(demo.reloaded(), 2);
    assert_eq!(demo.statuses(2), [200, 429]);
}

#[test]
fn a_broken_file_that_becomes_what_it_was_is_no_reload() {
    let demo = Demo::start(&policies(2));
    demo.write("policies: [");
    demo.kept();
    demo.write(&policies(2));
    assert_eq!(demo.gateway.process.logged(UNCHANGED)["generation"], 1);
}

#[test]
fn a_hangup_looks_at_once_and_applies_nothing_twice() {
    let demo = Demo::start(&policies(2));
    demo.gateway.process.signal(Signal::HUP);
    assert_eq!(demo.gateway.process.logged("reloading")["signal"], "SIGHUP");
    let said = demo.gateway.process.logged(UNCHANGED);
    assert_eq!(said["generation"], 1);
    let checksum = said["checksum"].as_str().unwrap();
    assert_eq!(checksum.len(), 12);
    demo.write(&policies(3));
    let said = demo.gateway.process.logged(RELOADED);
    assert_ne!(said["checksum"].as_str(), Some(checksum));
    demo.gateway.process.signal(Signal::HUP);
    assert_eq!(demo.gateway.process.logged(UNCHANGED)["generation"], 2);
}

#[test]
fn a_hangup_does_not_end_a_gateway_without_files() {
    let gateway = Running::start(["demo"]);
    gateway.process.signal(Signal::HUP);
    gateway.process.logged(UNCHANGED);
    assert_eq!(gateway.get("/").status, 200);
}

#[test]
fn a_file_of_keys_is_watched_like_the_file_that_names_it() {
    const KEY: &str = "a-key-of-acme-3eb1f0c26a57";
    let policies = "
identity: { api_key: { header: x-api-key, keys: keys.yaml, on_missing: anonymous } }
policies: []
";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("keys.yaml"), "[]").unwrap();
    let file = folder.path().join("tidegate.yaml");
    fs::write(&file, policies).unwrap();
    let demo = Demo::serving(folder, &file);
    let ask = || get_with(demo.gateway.address, "/", &[("x-api-key", KEY)]).status;
    assert_eq!(ask(), 401);
    let entry = run_with_input(["hash-key", "--subject", "acme"], &format!("{KEY}\n"));
    fs::write(demo.path("keys.yaml"), stdout(&entry)).unwrap();
    assert_eq!(demo.reloaded(), 2);
    assert_eq!(ask(), 200);
    fs::write(demo.path("keys.yaml"), "[").unwrap();
    assert_eq!(demo.gateway.process.logged(KEPT)["generation"], 2);
    assert_eq!(ask(), 200);
}

#[test]
fn settings_that_need_a_restart_are_named_and_those_of_flags_are_not() {
    let demo = Demo::start(&policies(2));
    let gateway = "gateway: { listen: 127.0.0.1:1, upstream: http://127.0.0.1:1, workers: 7, limits: { max_headers: 50 } }";
    demo.write(&format!("{gateway}\nstore: {{ memory: 1MiB }}\n{}", policies(1)));
    let mut named = [(); 3].map(|()| {
        let warning = demo.gateway.process.logged(NEEDS_RESTART);
        warning["setting"].as_str().unwrap().to_owned()
    });
    named.sort_unstable();
    assert_eq!(named, ["gateway.limits", "gateway.workers", "store"]);
    assert_eq!(demo.reloaded(), 2);
    // And everything else holds.
    assert_eq!(demo.statuses(2), [200, 429]);
}

#[test]
fn requests_that_come_all_the_time_are_all_answered_across_reloads() {
    let ample = |quota: u64| {
        format!("policies: [{{ name: api, key: [client.ip], limit: {{ quota: {quota}, window: 1s }} }}]")
    };
    let demo = Demo::start(&ample(1_000_001));
    let (address, done) = (demo.gateway.address, AtomicBool::new(false));
    let answered: usize = thread::scope(|scope| {
        let clients = [(); 4].map(|()| {
            scope.spawn(|| {
                let mut count = 0;
                // Only a flag; what the clients count is handed over by joining them.
                while !done.load(Ordering::Relaxed) {
                    let answer = get(address, "/");
                    let limit = answer.field("x-ratelimit-limit").unwrap();
                    assert!(answer.status == 200 && limit.starts_with("10000"), "{answer:?}");
                    count += 1;
                }
                count
            })
        });
        for generation in 2..12 {
            demo.write(&ample(1_000_000 + generation));
            assert_eq!(demo.reloaded(), generation);
        }
        done.store(true, Ordering::Relaxed);
        clients.map(|client| client.join().unwrap()).iter().sum()
    });
    assert!(answered > 10, "{answered}");
    assert_eq!(demo.gateway.get("/").field("x-ratelimit-limit"), Some("1000011"));
}
