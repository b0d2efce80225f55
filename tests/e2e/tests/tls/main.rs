//! TLS between real clients and the gateway, by the commands of docs/tls.md.

mod bench;
mod renewing;
mod streams;
mod who;

use crate::bench::{Bench, MANUAL, UNLIMITED, commands};

/// One request over TLS 1.3, any number over 1.2.
const BY_VERSION: &str = "
policies:
  - name: modern
    when: 'tls.version == \"1.3\"'
    key: [client.ip]
    limit: { quota: 1, window: 1h, burst: 1 }
";

#[test]
fn the_manual_s_first_certificate_serves_curl_over_http_1_and_2() {
    let bench = Bench::new("", UNLIMITED);
    let curl = commands()
        .into_iter()
        .find(|command| command.starts_with("curl "))
        .unwrap();
    assert_eq!(bench.run(&curl), "nginx says GET /\n");
    for (version, start) in [("--http1.1", "HTTP/1.1 200 OK"), ("--http2", "HTTP/2 200")] {
        let told = bench.run(&format!("{curl} --silent --include {version}"));
        assert!(told.starts_with(start), "{told}");
    }
    assert!(bench.nginx.log().iter().all(|line| line.contains(" 200 ")));
    let plain = bench.run("curl --silent http://localhost:8443/");
    assert!(plain.contains("This port speaks TLS"), "{plain}");
}

#[test]
fn openssl_sees_the_versions_the_protocol_and_the_name() {
    let bench = Bench::new("", UNLIMITED);
    let command = MANUAL
        .split('`')
        .find(|text| text.starts_with("openssl s_client"))
        .unwrap();
    let command = &format!("{command} 2>&1");
    let told = bench.run(command);
    assert!(
        told.contains("CN = localhost") && told.contains("ALPN protocol: h2"),
        "{told}"
    );
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let told = bench.run(&command.replace("-alpn", &format!("{version} -alpn")));
        assert!(told.contains(&format!("New, {name}, Cipher is ")), "{told}");
    }
    let old = bench.run(&command.replace("-alpn", "-tls1_1 -cipher DEFAULT@SECLEVEL=0 -alpn"));
    assert!(
        old.contains("alert handshake failure") && !old.contains("New, TLSv1"),
        "{old}"
    );
    let odd = bench.run(&command.replace("-alpn h2", "-alpn spdy/3"));
    assert!(odd.contains("alert no application protocol"), "{odd}");
}

#[test]
fn a_client_older_than_the_least_version_gets_an_alert() {
    let bench = Bench::new("        min_version: \"1.3\"\n", UNLIMITED);
    let told = bench.run("openssl s_client -connect localhost:8443 -tls1_2 </dev/null 2>&1");
    assert!(told.contains("alert protocol version"), "{told}");
}

#[test]
fn a_policy_sees_the_version_of_tls() {
    let bench = Bench::new("", BY_VERSION);
    let status = |version: &str| {
        bench.run(&format!(
            "curl --silent --output /dev/null --write-out %{{http_code}} --cacert cert.pem {version} https://localhost:8443/"
        ))
    };
    let (new, old) = ("--tlsv1.3", "--tlsv1.2 --tls-max 1.2");
    assert_eq!([new, new, old, old].map(status), ["200", "429", "200", "200"]);
}
