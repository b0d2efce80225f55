//! Certificates that are replaced while the gateway runs.

use std::fs;

use rustix::process::Signal;
use tidegate_e2e::{Secure, until};

use crate::bench::{Bench, UNLIMITED, commands, curl_with_certificate, sh};
use crate::who::REQUIRED;

const SERIAL: &str = "openssl s_client -connect localhost:8443 </dev/null | openssl x509 -noout -serial";

#[test]
fn a_new_certificate_is_shown_to_those_who_come_and_a_bad_one_to_nobody() {
    let mut bench = Bench::new("", UNLIMITED);
    let shown = |bench: &Bench| bench.run(SERIAL);
    let first = shown(&bench);
    assert!(first.starts_with("serial="), "{first}");

    fs::write(bench.folder.path().join("cert.pem"), "no certificate").unwrap();
    bench.gateway.process().signal(Signal::HUP);
    bench
        .gateway
        .process()
        .logged(|line| {
            line.contains("not reloaded: the files cannot be used")
                .then_some(())
        })
        .expect("the gateway says that it keeps the old certificate");
    assert_eq!(shown(&bench), first);

    sh(bench.folder.path(), &commands()[0]);
    bench.gateway.process().signal(Signal::HUP);
    let second = until("the new certificate is shown", || {
        Some(shown(&bench)).filter(|shown| *shown != first)
    });
    assert!(second.starts_with("serial="), "{second}");
    assert_eq!(
        bench.run("curl --silent --cacert cert.pem https://localhost:8443/"),
        "nginx says GET /\n"
    );
}

#[test]
fn a_connection_goes_on_under_its_old_certificate_while_files_are_replaced_without_a_signal() {
    let bench = Bench::new("", UNLIMITED);
    let mut old = Secure::connect(
        bench.gateway.address(),
        bench.folder.path(),
        &["-CAfile", "cert.pem"],
    );
    assert!(old.get("/before", "GET /before\n").starts_with("HTTP/1.1 200 "));
    let first = bench.run(SERIAL);

    // Beside the old ones and then in their place, as an ACME client does.
    let renewed = commands()[0]
        .replace("key.pem", "new.key")
        .replace("cert.pem", "new.pem");
    sh(
        bench.folder.path(),
        &format!("{renewed} && mv new.key key.pem && mv new.pem cert.pem"),
    );
    until("the new certificate is shown", || {
        Some(bench.run(SERIAL)).filter(|shown| *shown != first && shown.starts_with("serial="))
    });

    assert!(old.get("/after", "GET /after\n").starts_with("HTTP/1.1 200 "));
    let log = bench.nginx.log_up_to("/after");
    assert!(
        log.iter().any(|line| line.starts_with("GET /before 200 ")),
        "{log:?}"
    );
}

#[test]
fn clients_of_an_authority_that_was_replaced_are_refused() {
    let bench = Bench::new(REQUIRED, UNLIMITED);
    let curl = curl_with_certificate();
    assert_eq!(bench.run(&curl), "nginx says GET /\n");
    // Another authority of the same name, whose key signed nobody yet.
    let authority = commands()
        .into_iter()
        .find(|command| command.contains("CN=our clients"))
        .unwrap();
    sh(bench.folder.path(), &authority);
    let refused = until("the old client is refused", || {
        let told = bench.run(&format!("{curl} --silent --show-error 2>&1"));
        Some(told).filter(|told| told != "nginx says GET /\n")
    });
    assert!(refused.contains("alert"), "{refused}");
}
