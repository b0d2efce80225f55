//! Who is shown which certificate, and who is let in.

use std::path::Path;

use crate::bench::{Bench, UNLIMITED, commands, curl_with_certificate, sh};

pub(crate) const REQUIRED: &str = "        client_ca: clients.pem\n        client_auth: require\n";
const OPTIONAL: &str = "        client_ca: clients.pem\n        client_auth: optional\n";
/// One request of those who show no certificate, any number of the others.
const BY_CERTIFICATE: &str = "
policies:
  - name: strangers
    when: '!has(tls.client_certificate.subject)'
    key: [client.ip]
    limit: { quota: 1, window: 1h, burst: 1 }
";
const TWO_NAMES: &str = "{ certificate: one.pem, key: one.key }, { certificate: two.pem, key: two.key }";

/// Certificates for one.test and for everything below two.test.
fn two_names(folder: &Path) {
    for (file, name) in [("one", "one.test"), ("two", "*.two.test")] {
        let command = commands()[0]
            .replace("DNS:localhost", &format!("DNS:{name}"))
            .replace("CN=localhost", &format!("CN={file}"))
            .replace("key.pem", &format!("{file}.key"))
            .replace("cert.pem", &format!("{file}.pem"));
        sh(folder, &command);
    }
}

#[test]
fn the_name_that_a_client_asks_for_chooses_between_two_certificates() {
    let bench = Bench::with_certificates(TWO_NAMES, "", UNLIMITED, two_names);
    for (name, subject) in [
        ("-servername one.test", "one"),
        ("-servername api.two.test", "two"),
        ("-servername API.TWO.TEST", "two"),
        ("-servername two.test", "one"),
        ("-servername a.b.two.test", "one"),
        ("-servername other.test", "one"),
        ("-noservername", "one"),
    ] {
        let told = bench.run(&format!(
            "openssl s_client -connect localhost:8443 {name} </dev/null | openssl x509 -noout -subject"
        ));
        assert_eq!(told, format!("subject=CN = {subject}\n"), "{name}");
    }
    // Believed for its own name only.
    let port = bench.gateway.address().port();
    for (name, file, reached) in [
        ("one.test", "one.pem", true),
        ("api.two.test", "two.pem", true),
        ("other.test", "one.pem", false),
    ] {
        let told = bench.run(&format!(
            "curl --silent --resolve {name}:{port}:127.0.0.1 --cacert {file} https://{name}:{port}/"
        ));
        assert_eq!(told == "nginx says GET /\n", reached, "{name}: {told}");
    }
}

#[test]
fn a_strict_listener_has_nothing_for_a_client_that_asks_for_no_name_of_its_own() {
    let bench = Bench::with_certificates(TWO_NAMES, "        strict_sni: true\n", UNLIMITED, two_names);
    let handshake = |name: &str| {
        bench.run(&format!(
            "openssl s_client -connect localhost:8443 {name} </dev/null 2>&1"
        ))
    };
    for name in ["-servername other.test", "-noservername"] {
        let told = handshake(name);
        assert!(told.contains("alert access denied"), "{name}: {told}");
    }
    assert!(handshake("-servername api.two.test").contains("CN = two"));
}

#[test]
fn only_who_has_the_manual_s_client_certificate_is_let_in_where_it_is_required() {
    let bench = Bench::new(REQUIRED, UNLIMITED);
    let curl = curl_with_certificate();
    assert_eq!(bench.run(&curl), "nginx says GET /\n");
    let without = bench.run("curl --silent --show-error --cacert cert.pem https://localhost:8443/ 2>&1");
    assert!(without.contains("certificate required"), "{without}");
    // Signed by itself, not by the authority.
    let strange = curl
        .replace("client.pem", "cert.pem")
        .replace("client.key", "key.pem");
    let strange = bench.run(&format!("{strange} --silent --show-error 2>&1"));
    assert!(strange.contains("alert"), "{strange}");
    assert_eq!(bench.nginx.log().len(), 1);
}

#[test]
fn where_certificates_are_optional_a_policy_tells_their_holders_from_the_others() {
    let bench = Bench::new(OPTIONAL, BY_CERTIFICATE);
    let curl = "curl --silent --output /dev/null --write-out %{http_code} --cacert cert.pem";
    let status = |client: &str| bench.run(&format!("{curl} {client} https://localhost:8443/"));
    let known = "--cert client.pem --key client.key";
    assert_eq!(["", "", known, known].map(status), ["200", "429", "200", "200"]);
    // A bad one is worse than none.
    assert_eq!(status("--cert cert.pem --key key.pem"), "000");
}
