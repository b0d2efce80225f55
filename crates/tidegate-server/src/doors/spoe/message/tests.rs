use super::super::data::{put_string, put_text};
use super::*;

/// A message with text for arguments, and the address of its client in front.
fn message(name: &str, arguments: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_string(name.as_bytes(), &mut bytes);
    bytes.push(u8::try_from(arguments.len() + 1).unwrap());
    put_string(b"src", &mut bytes);
    bytes.extend([6, 203, 0, 113, 5]);
    for (name, value) in arguments {
        put_string(name.as_bytes(), &mut bytes);
        put_text(value.as_bytes(), &mut bytes);
    }
    bytes
}

fn described(arguments: &[(&str, &str)]) -> Result<Request<Option<Bytes>>, Misasked> {
    find(&message("tidegate-check", arguments))
        .unwrap()
        .unwrap()
        .request()
}

#[test]
fn a_message_becomes_the_request_that_it_describes() {
    let arguments = [
        ("method", "POST"),
        ("path", "/api/a"),
        ("query", "b=c"),
        (
            "headers",
            "host: a.test\r\nx-a: 1\r\nx-a:2 \r\ncontent-length: 4\r\n\r\n",
        ),
        ("body", "abcd"),
    ];
    let request = described(&arguments).unwrap();
    assert_eq!(request.method(), Method::POST);
    assert_eq!(request.uri(), "/api/a?b=c");
    assert_eq!(request.headers()[HOST], "a.test");
    let values: Vec<_> = request.headers().get_all("x-a").iter().collect();
    assert_eq!(values, ["1", "2"]);
    assert_eq!(request.body().as_deref(), Some(&b"abcd"[..]));
    let told = message("tidegate-check", &arguments);
    let told = find(&told).unwrap().unwrap();
    assert_eq!(told.source, Some("203.0.113.5".parse().unwrap()));
}

#[test]
fn a_body_that_haproxy_cut_is_not_looked_at() {
    for fields in ["content-length: 5\r\n\r\n", "transfer-encoding: chunked\r\n\r\n"] {
        let arguments = [
            ("method", "POST"),
            ("path", "/"),
            ("headers", fields),
            ("body", "abcd"),
        ];
        assert_eq!(described(&arguments).unwrap().body(), &None, "{fields}");
    }
}

#[test]
fn the_query_is_taken_once() {
    let uri = |path, query| {
        let request = described(&[("method", "GET"), ("path", path), ("query", query)]);
        request.unwrap().uri().to_string()
    };
    assert_eq!(uri("/a?b", "b"), "/a?b");
    assert_eq!(uri("/a", ""), "/a");
    assert_eq!(uri("*", ""), "*");
}

#[test]
fn what_is_missing_is_told() {
    assert_eq!(described(&[("path", "/")]).unwrap_err(), Misasked::Method);
    assert_eq!(described(&[("method", "GET")]).unwrap_err(), Misasked::Target);
}

#[test]
fn what_no_gateway_takes_is_refused() {
    let bad_target = Misasked::Refused(Refused::Target);
    for (method, path) in [
        ("G T", "/"),
        ("GET", "http://a.test/"),
        ("GET", ""),
        ("GET", "/a?b=<"),
    ] {
        let asked = described(&[("method", method), ("path", path)]);
        assert_eq!(asked.unwrap_err(), bad_target, "{method} {path}");
    }
    let query = described(&[("method", "GET"), ("path", "/"), ("query", "<")]);
    assert_eq!(query.unwrap_err(), bad_target);
    let fields = |count| "a: b\r\n".repeat(count);
    let most = |count| described(&[("method", "GET"), ("path", "/"), ("headers", &fields(count))]);
    assert_eq!(most(MAX_FIELDS).unwrap().headers().len(), MAX_FIELDS);
    assert_eq!(
        most(MAX_FIELDS + 1).unwrap_err(),
        Misasked::Refused(Refused::Fields)
    );
}

#[test]
fn other_messages_are_not_ours_and_a_broken_frame_is_nobodys() {
    assert!(find(&message("other", &[])).unwrap().is_none());
    let both = [
        message("other", &[]),
        message("tidegate-check", &[("method", "GET")]),
    ]
    .concat();
    assert!(find(&both).unwrap().is_some());
    for end in 1..both.len() {
        // Some beginnings are whole messages; none may be taken for what it is not.
        let _ = find(&both[..end]);
    }
    let broken = [&both[..], &[5]].concat();
    assert!(find(&broken).is_err());
}
