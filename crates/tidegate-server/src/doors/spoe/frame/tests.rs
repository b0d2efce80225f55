use super::*;

fn frame(kind: u8, flags: u32, name: (u64, u64), payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend(flags.to_be_bytes());
    put_number(name.0, &mut bytes);
    put_number(name.1, &mut bytes);
    bytes.extend(payload);
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes()[..], &bytes].concat()
}

fn greeting(versions: Option<&str>, most: Option<u32>, capabilities: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, text) in [("supported-versions", versions), ("capabilities", capabilities)] {
        if let Some(text) = text {
            put_string(name.as_bytes(), &mut bytes);
            put_text(text.as_bytes(), &mut bytes);
        }
    }
    if let Some(most) = most {
        put_string(b"max-frame-size", &mut bytes);
        put_unsigned(most, &mut bytes);
    }
    bytes
}

#[test]
fn a_frame_is_waited_for_until_its_last_byte() {
    let bytes = frame(3, 1, (300, 7), b"payload");
    for end in 0..bytes.len() {
        assert_eq!(decode(&bytes[..end], 1_000), Decoded::Unfinished, "{end}");
    }
    let name = Name {
        stream: 300,
        frame: 7,
    };
    let both = [&bytes[..], b"next"].concat();
    assert_eq!(
        decode(&both, 1_000),
        Decoded::Frame(Frame::Notify(name, b"payload"), bytes.len())
    );
}

#[test]
fn what_is_no_frame_ends_the_connection_with_the_number_for_it() {
    let most = 64;
    for (bytes, fault) in [
        (frame(3, 0, (1, 1), b""), Fault::Fragmented),
        (frame(1, 1, (1, 0), b""), Fault::Invalid),
        (frame(2, 1, (0, 1), b""), Fault::Invalid),
        (vec![0, 0, 0, 0], Fault::Invalid),
        (vec![0, 0, 0, 5, 3, 0, 0, 0, 1], Fault::Invalid),
        (vec![0, 0, 0, 65], Fault::TooBig),
        (vec![0xff; 4], Fault::TooBig),
    ] {
        assert_eq!(decode(&bytes, most), Decoded::Wrong(fault), "{bytes:?}");
    }
    let longest = frame(3, 1, (1, 1), &vec![0; most - 7]);
    assert!(matches!(decode(&longest, most), Decoded::Frame(..)));
    assert_eq!(decode(&longest, most - 1), Decoded::Wrong(Fault::TooBig));
    let unknown = frame(77, 1, (1, 1), b"");
    assert_eq!(
        decode(&unknown, most),
        Decoded::Frame(Frame::Unknown, unknown.len())
    );
}

#[test]
fn both_sides_agree_on_the_smaller_frames() {
    let agreed = |most| agree(&greeting(Some("1.0, 2.0"), Some(most), Some("async,pipelining"))).unwrap();
    assert_eq!(agreed(16_380).most, 16_380);
    assert_eq!(agreed(u32::MAX).most, MAX_FRAME_BYTES);
    assert_eq!(agreed(256).most, 256);
    assert!(agreed(256).pipelining && !agreed(256).is_health_check);
    let plain = agree(&greeting(Some("2.0"), Some(256), Some(""))).unwrap();
    assert!(!plain.pipelining);
}

#[test]
fn a_greeting_that_lacks_something_is_told_what() {
    for (bytes, fault) in [
        (greeting(None, Some(256), Some("")), Fault::NoVersion),
        (greeting(Some("2.0"), None, Some("")), Fault::NoFrameSize),
        (greeting(Some("2.0"), Some(256), None), Fault::NoCapabilities),
        (greeting(Some("1.0"), Some(256), Some("")), Fault::BadVersion),
        (greeting(Some("2.0"), Some(255), Some("")), Fault::BadFrameSize),
        (vec![200], Fault::Invalid),
    ] {
        assert_eq!(agree(&bytes), Err(fault));
    }
}

/// What the other side reads of `bytes`: kind, name, and the values by their names.
fn said(bytes: &[u8]) -> (u8, Vec<(Vec<u8>, Value<'_>)>) {
    let length = u32::from_be_bytes(bytes[..4].try_into().unwrap());
    assert_eq!(usize::try_from(length).unwrap() + 4, bytes.len());
    assert_eq!(bytes[5..9], 1_u32.to_be_bytes());
    assert_eq!(bytes[9..11], [0, 0]);
    let mut reader = Reader(&bytes[11..]);
    let mut values = Vec::new();
    while !reader.is_empty() {
        let name = reader.string().unwrap().to_vec();
        values.push((name, reader.value().unwrap()));
    }
    (bytes[4], values)
}

#[test]
fn greetings_and_farewells_say_what_the_protocol_wants() {
    let mut bytes = Vec::new();
    agree(&greeting(Some("2.0"), Some(1_000), Some("pipelining")))
        .unwrap()
        .greet(&mut bytes);
    let (kind, values) = said(&bytes);
    assert_eq!(kind, 101);
    assert_eq!(
        values,
        [
            (b"version".to_vec(), Value::Bytes(b"2.0")),
            (b"max-frame-size".to_vec(), Value::Number(1_000)),
            (b"capabilities".to_vec(), Value::Bytes(b"pipelining")),
        ]
    );
    let mut bytes = Vec::new();
    Fault::TooBig.disconnect(&mut bytes);
    let (kind, values) = said(&bytes);
    assert_eq!(kind, 102);
    assert_eq!(values[0], (b"status-code".to_vec(), Value::Number(3)));
    assert_eq!(
        values[1],
        (b"message".to_vec(), Value::Bytes(b"frame is too big"))
    );
}
