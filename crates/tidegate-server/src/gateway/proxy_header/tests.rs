use proptest::prelude::*;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn client(text: &str) -> Source {
    Source::Client(ip(text))
}

/// A header of version 2 with these last three parts; its length is right.
fn v2(command: u8, family: u8, addresses: &[u8], values: &[u8]) -> Vec<u8> {
    let length = u16::try_from(addresses.len() + values.len())
        .unwrap()
        .to_be_bytes();
    [v2::SIGNATURE, &[command, family], &length, addresses, values].concat()
}

/// The same with its checksum as the last value.
fn with_checksum(mut header: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(header.len() - 16 + 7).unwrap().to_be_bytes();
    header[14..16].copy_from_slice(&length);
    header.extend_from_slice(&[0x03, 0, 4, 0, 0, 0, 0]);
    let at = header.len() - 4;
    let sum = crc32c::of(&header).to_be_bytes();
    header[at..].copy_from_slice(&sum);
    header
}

const V4: [u8; 12] = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x67, 1, 0xbb];

fn v6(source: &str) -> Vec<u8> {
    let IpAddr::V6(source) = ip(source) else {
        panic!("{source}");
    };
    [&source.octets()[..], &[0; 15], &[1], &[0x12, 0x67, 1, 0xbb]].concat()
}

/// `header` is read as `source`, whatever follows it, and each of its beginnings is unfinished.
#[track_caller]
fn assert_header(header: &[u8], accepted: ProxyProtocol, source: Source) {
    let length = header.len();
    for after in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", b"\r\n", b"PROXY "] {
        let bytes = [header, after].concat();
        assert_eq!(parse(&bytes, accepted), Outcome::Header { source, length });
    }
    for end in 0..length {
        assert_eq!(
            parse(&header[..end], accepted),
            Outcome::Unfinished,
            "{end} of {length}"
        );
    }
}

#[test]
fn version_1_names_the_client() {
    for (line, source) in [
        ("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n", client("192.0.2.7")),
        (
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            client("255.255.255.255"),
        ),
        ("PROXY TCP6 2001:db8::7 ::1 0 443\r\n", client("2001:db8::7")),
        ("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 443\r\n", client("192.0.2.7")),
        ("PROXY UNKNOWN\r\n", Source::Peer),
        ("PROXY UNKNOWN 1.1.1.1 anything at all\r\n", Source::Peer),
        (
            "PROXY UNKNOWN ffff:f...f:ffff:ffff:ffff:ffff:ffff ffff:f...f:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            Source::Peer,
        ),
    ] {
        assert_header(line.as_bytes(), ProxyProtocol::V1, source);
        assert_header(line.as_bytes(), ProxyProtocol::Any, source);
    }
}

#[test]
fn a_line_that_is_not_written_as_version_1_has_it_is_no_header() {
    for line in [
        "GET / HTTP/1.1\r\n",
        "proxy TCP4 192.0.2.7 10.0.0.1 4711 443\r\n",
        "PROXY  TCP4 192.0.2.7 10.0.0.1 4711 443\r\n",
        "PROXY TCP4  192.0.2.7 10.0.0.1 4711 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 4711 443 \r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 4711\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 4711 443 1\r\n",
        "PROXY TCP4 192.0.2.07 10.0.0.1 4711 443\r\n",
        "PROXY TCP4 2001:db8::7 ::1 4711 443\r\n",
        "PROXY TCP6 192.0.2.7 10.0.0.1 4711 443\r\n",
        "PROXY TCP6 fe80::1%eth0 ::1 4711 443\r\n",
        "PROXY TCP6 [2001:db8::7] ::1 4711 443\r\n",
        "PROXY TCP4 192.0.2.7 x 4711 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 04711 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 +471 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 65536 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1  443\r\n",
        "PROXY UDP4 192.0.2.7 10.0.0.1 4711 443\r\n",
        "PROXY UNKNOWNX\r\n",
        "PROXY \r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\rX",
        "PROXY TCP4 192.0.2.7\t10.0.0.1 4711 443\r\n",
        "PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\n\r\n",
    ] {
        assert_eq!(
            parse(line.as_bytes(), ProxyProtocol::Any),
            Outcome::Bad,
            "{line:?}"
        );
    }
}

#[test]
fn a_line_of_version_1_has_a_greatest_length() {
    let line = |length: usize| {
        let start = "PROXY UNKNOWN ";
        format!("{start}{}\r\n", "x".repeat(length - start.len() - 2))
    };
    assert_header(
        line(v1::MAX_LINE_BYTES).as_bytes(),
        ProxyProtocol::V1,
        Source::Peer,
    );
    let beyond = line(v1::MAX_LINE_BYTES + 1);
    assert_eq!(parse(beyond.as_bytes(), ProxyProtocol::V1), Outcome::Bad);
    let endless = "PROXY UNKNOWN".to_owned() + &" ".repeat(200);
    assert_eq!(parse(endless.as_bytes(), ProxyProtocol::V1), Outcome::Bad);
    let so_far = &endless.as_bytes()[..v1::MAX_LINE_BYTES - 1];
    assert_eq!(parse(so_far, ProxyProtocol::V1), Outcome::Unfinished);
}

#[test]
fn version_2_names_the_client() {
    let unix = [b'/'; 216];
    let values = [
        &[0x01, 0, 2][..],
        b"h2",
        &[0x04, 0, 0],
        &[0x20, 0, 5, 1, 0, 0, 0, 0],
    ]
    .concat();
    for (header, source) in [
        (v2(0x21, 0x11, &V4, &[]), client("192.0.2.7")),
        (v2(0x21, 0x11, &V4, &values), client("192.0.2.7")),
        (v2(0x21, 0x21, &v6("2001:db8::7"), &values), client("2001:db8::7")),
        (v2(0x21, 0x21, &v6("::ffff:192.0.2.7"), &[]), client("192.0.2.7")),
        (v2(0x21, 0x00, &[], &[]), Source::Peer),
        (v2(0x21, 0x31, &unix, &values), Source::Peer),
        (v2(0x20, 0x00, &[], &[]), Source::Peer),
        (v2(0x20, 0x11, &V4, &[]), Source::Peer),
        (v2(0x20, 0xff, b"anything", &[]), Source::Peer),
        (with_checksum(v2(0x21, 0x11, &V4, &values)), client("192.0.2.7")),
        (with_checksum(v2(0x21, 0x00, &[], &[])), Source::Peer),
    ] {
        assert_header(&header, ProxyProtocol::V2, source);
        assert_header(&header, ProxyProtocol::Any, source);
    }
}

#[test]
fn what_version_2_does_not_allow_is_no_header() {
    let mut wrong_signature = v2(0x21, 0x11, &V4, &[]);
    wrong_signature[11] = b'\r';
    for header in [
        wrong_signature,
        v2(0x11, 0x11, &V4, &[]),
        v2(0x22, 0x11, &V4, &[]),
        v2(0x31, 0x11, &V4, &[]),
        v2(0x21, 0x12, &V4, &[]),
        v2(0x21, 0x22, &v6("2001:db8::7"), &[]),
        v2(0x21, 0x10, &V4, &[]),
        v2(0x21, 0x41, &V4, &[]),
        v2(0x21, 0x11, &V4[..11], &[]),
        v2(0x21, 0x21, &V4, &[]),
        v2(0x21, 0x31, &[0; 215], &[]),
        v2(0x21, 0x11, &V4, &[0x04]),
        v2(0x21, 0x11, &V4, &[0x04, 0]),
        v2(0x21, 0x11, &V4, &[0x04, 0, 1]),
        v2(0x21, 0x11, &V4, &[0x03, 0, 4, 1, 2, 3, 4]),
        v2(0x21, 0x11, &V4, &[0x03, 0, 0]),
        with_checksum(with_checksum(v2(0x21, 0x11, &V4, &[]))),
    ] {
        assert_eq!(parse(&header, ProxyProtocol::V2), Outcome::Bad, "{header:?}");
    }
}

#[test]
fn every_changed_bit_is_found_by_the_checksum() {
    let header = with_checksum(v2(0x21, 0x11, &V4, &[0x04, 0, 1, 0]));
    for bit in 16 * 8..28 * 8 {
        let mut changed = header.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(parse(&changed, ProxyProtocol::V2), Outcome::Bad, "bit {bit}");
    }
}

#[test]
fn a_header_of_version_2_has_a_greatest_length() {
    let of_length = |length: usize| {
        let value = u16::try_from(length - 16 - 12 - 3).unwrap();
        let [high, low] = value.to_be_bytes();
        v2(
            0x21,
            0x11,
            &V4,
            &[&[0x04, high, low][..], &vec![0; value.into()]].concat(),
        )
    };
    assert_header(&of_length(MAX_BYTES), ProxyProtocol::V2, client("192.0.2.7"));
    // It is refused as soon as its length is known.
    assert_eq!(
        parse(&of_length(MAX_BYTES + 1)[..16], ProxyProtocol::V2),
        Outcome::Bad
    );
}

#[test]
fn only_the_accepted_version_is_a_header() {
    let (one, two) = (b"PROXY UNKNOWN\r\n", v2(0x20, 0, &[], &[]));
    assert_eq!(parse(one, ProxyProtocol::V2), Outcome::Bad);
    assert_eq!(parse(&two, ProxyProtocol::V1), Outcome::Bad);
    assert_eq!(parse(b"P", ProxyProtocol::V2), Outcome::Bad);
    assert_eq!(parse(b"", ProxyProtocol::Any), Outcome::Unfinished);
}

proptest! {
    #[test]
    fn no_bytes_bring_it_down_and_a_header_never_reaches_beyond_them(bytes in prop::collection::vec(any::<u8>(), 0..300), start in 0usize..3) {
        let start: &[u8] = [v2::SIGNATURE, v1::BEGINNING, b""][start];
        let bytes = [start, &bytes[..]].concat();
        for accepted in [ProxyProtocol::V1, ProxyProtocol::V2, ProxyProtocol::Any] {
            if let Outcome::Header { length, .. } = parse(&bytes, accepted) {
                prop_assert!(length <= bytes.len() && length <= MAX_BYTES);
            }
        }
    }

    #[test]
    fn every_address_comes_through_both_versions(address: IpAddr, port: u16) {
        let (family, destination) = if address.is_ipv4() { ("TCP4", "10.0.0.1") } else { ("TCP6", "::1") };
        let line = format!("PROXY {family} {address} {destination} {port} 443\r\n");
        let source = Source::Client(address.to_canonical());
        prop_assert_eq!(parse(line.as_bytes(), ProxyProtocol::Any), Outcome::Header { source, length: line.len() });
        let header = match address {
            IpAddr::V4(address) => v2(0x21, 0x11, &[&address.octets()[..], &V4[4..]].concat(), &[]),
            IpAddr::V6(_) => v2(0x21, 0x21, &v6(&address.to_string()), &[]),
        };
        prop_assert_eq!(parse(&header, ProxyProtocol::Any), Outcome::Header { source, length: header.len() });
    }
}
