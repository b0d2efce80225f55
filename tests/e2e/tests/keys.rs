//! API keys with tiers, from a file that `tidegate hash-key` wrote.

use std::io::Write as _;
use std::process::Stdio;

use tidegate_e2e::{Gateway, Nginx, Reply, curl};

const POLICIES: &str = "
identity:
  api_key: { header: x-api-key, keys: keys.yaml }
policies:
  - name: api
    key: [identity]
    limit: { quota: 1, window: 1h, burst: 1 }
    tiers:
      pro: { quota: 1, window: 1h, burst: 3 }
";
const PRO_KEY: &str = "pro-0123456789-abcdefghij-ABCDEFGHIJ";
const FREE_KEY: &str = "free-0123456789-abcdefghij-ABCDEFGHIJ";

fn hashed(key: &str, arguments: &[&str]) -> String {
    let mut command = Gateway::command(&[&["hash-key"], arguments].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{key}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn start(nginx: &Nginx) -> Gateway {
    let keys =
        hashed(PRO_KEY, &["--subject", "acme", "--tier", "pro"]) + &hashed(FREE_KEY, &["--subject", "zoe"]);
    assert!(
        !keys.contains(PRO_KEY) && !keys.contains(FREE_KEY),
        "keys are kept hashed: {keys}"
    );
    Gateway::with_files("127.0.0.1:0", &nginx.url(), POLICIES, &[("keys.yaml", &keys)])
}

fn with_key(gateway: &Gateway, key: &str) -> Reply {
    curl(&["-H", &format!("x-api-key: {key}"), &gateway.url("/told")])
}

#[test]
fn each_key_has_the_limit_of_its_tier() {
    let nginx = Nginx::start();
    let gateway = start(&nginx);
    let statuses = |key| [0, 1, 2, 3].map(|_| with_key(&gateway, key).status);
    assert_eq!(statuses(PRO_KEY), [200, 200, 200, 429]);
    assert_eq!(statuses(FREE_KEY), [200, 429, 429, 429]);
}

#[test]
fn the_origin_learns_subject_and_tier() {
    let nginx = Nginx::start();
    let gateway = start(&nginx);
    let told = with_key(&gateway, PRO_KEY).body;
    assert!(told.contains("subject=acme\ntier=pro\n"), "{told}");
}

#[test]
fn an_unknown_key_is_refused_before_the_origin() {
    let nginx = Nginx::start();
    let gateway = start(&nginx);
    let reply = with_key(&gateway, "nobody-0123456789-abcdefghij-ABCDEF");
    assert_eq!(reply.status, 401, "{reply:?}");
    assert!(reply.field("www-authenticate").is_some(), "{reply:?}");
    assert_eq!(nginx.log(), [""; 0]);
}
