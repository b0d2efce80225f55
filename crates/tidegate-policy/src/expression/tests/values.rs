//! What expressions come to.

use super::World;
use crate::expression::ExpressionFault::{
    Absent, Arithmetic, Conversion, NoSuchPlace, NotText, TooLong, TooMuchWork, WrongType,
};
use crate::{Identity, PeerCertificate, Tls, TlsVersion};

#[test]
fn variables_are_what_the_request_holds() {
    let world = World::default();
    for (source, value) in [
        ("request.method", "'POST'"),
        ("request.host", "'api.example.org'"),
        ("request.path", "'/Users/42'"),
        ("request.scheme", "'http'"),
        ("request.protocol", "'HTTP/1.1'"),
        ("request.query.a", "'1'"),
        ("request.query.b", "'x y'"),
        ("request.query.empty", "''"),
        ("request.headers[\"x-plan\"]", "'gold'"),
        ("request.headers.accept", "'text/html, text/plain'"),
        ("request.cookies.sid", "'a b'"),
        ("client.ip", "'192.0.2.7'"),
        ("identity.known", "true"),
        ("identity.subject", "'acme'"),
    ] {
        assert_eq!(world.value(source).as_deref(), Ok(value), "{source}");
    }
}

#[test]
fn what_a_request_lacks_can_be_asked_for_and_not_be_read() {
    let world = World::default();
    for name in [
        "request.query.none",
        "request.query.twice",
        "request.cookies.twice",
        "request.headers.none",
        "identity.tier",
        "tls.server_name",
        "tls.version",
        "tls.cipher",
        "tls.alpn",
        "tls.client_certificate.subject",
        "tls.client_certificate.names",
        "tls.client_certificate.sha256",
        "claims.plan",
        "body.json",
        "body.form",
        "body.graphql.operation",
        "bot.verified",
        "bot.name",
        "geo.country",
        "geo.asn",
    ] {
        assert_eq!(
            world.value(&format!("has({name})")).as_deref(),
            Ok("false"),
            "{name}"
        );
        assert_eq!(world.value(name), Err(Absent), "{name}");
    }
    assert_eq!(world.value("has(body.json.a)").as_deref(), Ok("false"));
    assert_eq!(world.value("has(request.headers.accept)").as_deref(), Ok("true"));
    assert_eq!(world.value("'x-plan' in request.headers").as_deref(), Ok("true"));
    assert_eq!(world.value("request.headers['x-latin']"), Err(NotText));
}

fn tls() -> Tls {
    let mut certificate = PeerCertificate::new("CN=billing", "00ff");
    certificate.names.push("billing.test".into());
    let mut tls = Tls::new(TlsVersion::V1_3);
    tls.cipher = "TLS_AES_128_GCM_SHA256";
    tls.server_name = Some("api.test".into());
    tls.alpn = Some("h2");
    tls.client_certificate = Some(certificate);
    tls
}

#[test]
fn a_connection_with_tls_tells_of_it() {
    let mut world = World {
        tls: Some(tls()),
        ..World::default()
    };
    assert_eq!(world.value("tls.server_name").as_deref(), Ok("'api.test'"));
    assert_eq!(world.value("request.scheme").as_deref(), Ok("'https'"));
    for (source, value) in [
        ("tls.version", "'1.3'"),
        ("tls.cipher", "'TLS_AES_128_GCM_SHA256'"),
        ("tls.alpn", "'h2'"),
        ("has(tls.client_certificate.subject)", "true"),
        ("tls.client_certificate.subject", "'CN=billing'"),
        ("'billing.test' in tls.client_certificate.names", "true"),
        ("size(tls.client_certificate.names)", "1"),
        ("tls.client_certificate.sha256", "'00ff'"),
    ] {
        assert_eq!(world.value(source).as_deref(), Ok(value), "{source}");
    }
    world.identity = Identity::Anonymous;
    assert_eq!(world.value("identity.known").as_deref(), Ok("false"));
    assert_eq!(world.value("identity.subject"), Err(Absent));
}

#[test]
fn a_path_is_the_reading_that_matched_without_a_final_slash() {
    let mut world = World::default();
    for (path, value) in [
        ("/", "'/'"),
        ("/a/b/", "'/a/b'"),
        ("/%61/b", "'/a/b'"),
        ("//a/./b", "'/a/b'"),
        ("/a/../b", "'/b'"),
    ] {
        world.path = path;
        assert_eq!(world.value("request.path").as_deref(), Ok(value), "{path}");
    }
}

#[test]
fn operators_and_functions_do_what_cel_says() {
    let world = World::default();
    for (source, value) in [
        ("1 + 2 * 3 - 7 / 2 - 7 % 4", "1"),
        ("1u + 2u", "3u"),
        ("1.5 * 2.0", "3.0"),
        ("'a' + 'b'", "'ab'"),
        ("[1] + [2, 3]", "[1, 2, 3]"),
        ("-(-3)", "3"),
        ("1 < 1.5 && 2u > 1 && 1 == 1u", "true"),
        ("'a' < 'b' && !('b' <= 'a')", "true"),
        ("2 in [1, 2]", "true"),
        ("'a' in {'a': 1}", "true"),
        ("{'GET': 1, 'POST': 5}[request.method]", "5"),
        ("[[1], [2]][1][0]", "2"),
        ("true ? 1 : 1 / 0", "1"),
        ("1 / 0 == 1 || true", "true"),
        ("false && 1 / 0 == 1", "false"),
        ("[1, 2, 3].all(x, x > 0)", "true"),
        ("[1, 2, 3].exists(x, x > 2)", "true"),
        ("[1, 2, 3].exists_one(x, x > 2)", "true"),
        ("[1, 2, 3].exists_one(x, x > 1)", "false"),
        ("[1, 2, 3].filter(x, x > 1)", "[2, 3]"),
        ("[1, 2, 3].map(x, x * x)", "[1, 4, 9]"),
        ("[1, 2, 3].map(x, x > 1, x * x)", "[4, 9]"),
        ("[1, 2].map(x, [3, 4].map(y, x * y))", "[[3, 4], [6, 8]]"),
        ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ("{'a': 1, 'b': 2}.all(k, k < 'c')", "true"),
        (
            "request.cookies.map(name, name).exists(name, name == 'twice')",
            "false",
        ),
        ("size('äb') + size([1]) + size({'a': 1}) + 'abc'.size()", "7"),
        ("size(request.query)", "3"),
        (
            "'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
            "true",
        ),
        ("request.path.matches('^/users/[0-9]+$')", "false"),
        ("request.path.lowerAscii().matches('^/users/[0-9]+$')", "true"),
        ("'aÄ'.upperAscii()", "'AÄ'"),
        ("int('7') + int(2.9) + int(3u)", "12"),
        ("uint(7) + uint('1')", "8u"),
        ("double(1) + double('0.5')", "1.5"),
        (
            "string(1) + string(2u) + string(true) + string(1.5)",
            "'12true1.5'",
        ),
        ("cidr('192.0.2.0/24').contains(client.ip)", "true"),
        ("cidr(['10.0.0.0/8', '192.0.2.7']).contains(client.ip)", "true"),
        ("cidr('10.0.0.0/8').contains(client.ip)", "false"),
        ("cidr('10.0.0.0/8').contains('::ffff:10.1.1.1')", "true"),
        ("int(request.headers['x-count']) > 5 ? 'many' : 'few'", "'many'"),
        ("null == null", "true"),
    ] {
        assert_eq!(world.value(source).as_deref(), Ok(value), "{source}");
    }
}

#[test]
fn what_cannot_be_computed_is_a_fault() {
    let world = World::default();
    for (source, fault) in [
        ("1 / 0", Arithmetic),
        ("1 % 0", Arithmetic),
        ("9223372036854775807 + 1", Arithmetic),
        ("0u - 1u", Arithmetic),
        ("-(-9223372036854775808)", Arithmetic),
        ("-9223372036854775808 / -1", Arithmetic),
        ("-9223372036854775808 % -1", Arithmetic),
        ("int(1e30)", Arithmetic),
        ("int(-9223372036854775808.0)", Arithmetic),
        ("uint(-1)", Arithmetic),
        ("int('x')", Conversion),
        ("[1][1]", NoSuchPlace),
        ("[1][-1]", NoSuchPlace),
        ("{'a': 1}.b", Absent),
        ("{'a': 1, 'a': 2}.a", WrongType),
        ("1 / 0 == 1 && true", Arithmetic),
        ("[0, 2].exists(x, 1 / x == 1)", Arithmetic),
        ("cidr('10.0.0.0/8').contains('x')", Conversion),
    ] {
        assert_eq!(world.value(source), Err(fault), "{source}");
    }
}

#[test]
fn work_is_bounded_however_lists_are_made() {
    let world = World::default();
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    let hundred = [ten; 10].join("+");
    let few = format!("({hundred}).all(x, {ten}.all(y, x + y < 100))");
    assert_eq!(world.value(&few).as_deref(), Ok("true"));
    let many = format!("({hundred}).all(x, ({hundred}).all(y, x + y < 100))");
    assert_eq!(world.value(&many), Err(TooMuchWork));
    // A fault is forgiven by `||`; too much work is not.
    assert_eq!(world.value(&format!("({many}) || true")), Err(TooMuchWork));
}

#[test]
fn texts_do_not_grow_beyond_their_bound() {
    let mut headers = World::default();
    let long = "a".repeat(crate::expression::fuel::MAX_MADE_BYTES / 2);
    headers.headers.insert("x-long", long.parse().unwrap());
    let name = "request.headers['x-long']";
    assert_eq!(
        headers.value(&format!("size({name} + {name})")).as_deref(),
        Ok("65536")
    );
    assert_eq!(
        headers.value(&format!("size({name} + {name} + 'a')")),
        Err(TooLong)
    );
}
