//! Bytes that no port of the gateway is for, and handshakes that stop.

use tidegate_e2e::{Attack, Siege, Then};

use crate::{IMPATIENT, all_told, attack};

/// The first message of TLS 1.3, with everything that is needed to be answered.
fn client_hello() -> Vec<u8> {
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    // No session; TLS_AES_128_GCM_SHA256; no compression.
    hello.extend([0, 0, 2, 0x13, 1, 1, 0]);
    let mut extensions = vec![
        // Version 1.3; X25519; ecdsa_secp256r1_sha256.
        0, 43, 0, 3, 2, 3, 4, 0, 10, 0, 4, 0, 2, 0, 29, 0, 13, 0, 4, 0, 2, 4, 3, //
        // A share for X25519.
        0, 51, 0, 38, 0, 36, 0, 29, 0, 32,
    ];
    extensions.extend([9; 32]);
    hello.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    hello.extend(extensions);
    let mut message = vec![1, 0];
    message.extend(u16::try_from(hello.len()).unwrap().to_be_bytes());
    message.extend(hello);
    let mut record = vec![22, 3, 1];
    record.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
    record.extend(message);
    record
}

/// Bytes without a meaning, the same in each run.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..64 * 1024).map(|_| next()).collect()
}

#[test]
fn handshakes_that_stop_are_given_up_on() {
    let mut siege = Siege::of(IMPATIENT);
    let at = siege.ports.tls;
    let hello = client_hello();
    let half = &hello[..hello.len() / 2];
    let [answered, ..] = siege.withstands([
        attack(at, "a hello and no more", hello.clone()),
        attack(at, "half a hello", half),
        Attack {
            then: Then::HalfCloses,
            ..attack(at, "half a hello and half a close", half)
        },
        Attack {
            // Records of one byte each, of a message of 16 MiB.
            then: Then::Drips(vec![22, 3, 1, 0, 1, 0xff]),
            ..attack(at, "a hello that drips", [22, 3, 1, 0, 1, 1])
        },
        Attack {
            then: Then::Floods([&[22, 3, 1, 0x40, 0][..], &[0xff; 0x4000]].concat()),
            ..attack(
                at,
                "a hello without an end",
                [22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff],
            )
        },
    ]);
    all_told(&answered, "\x16\x03\x03");
}

#[test]
fn what_a_port_does_not_speak_ends_there() {
    let mut siege = Siege::of(IMPATIENT);
    let ports = siege.ports;
    let get = "GET /hostile HTTP/1.1\r\nhost: a\r\n\r\n";
    let [in_clear, to_tls, ..] = siege.withstands([
        attack(ports.clear, "TLS in clear", client_hello()),
        attack(ports.tls, "HTTP to TLS", get),
        attack(ports.proxied, "HTTP without a proxy's header", get),
        Attack {
            then: Then::Drips(b"1".to_vec()),
            ..attack(ports.proxied, "a proxy's header that drips", "PROXY TCP4 1")
        },
    ]);
    all_told(&in_clear, "HTTP/1.1 400 ");
    all_told(&to_tls, "HTTP/1.1 400 ");
    let all = [ports.clear, ports.tls, ports.proxied, ports.admin];
    siege.withstands([0, 1, 2, 3].map(|index| attack(all[index], "noise", noise(index as u64))));
    siege.withstands(all.map(|at| attack(at, "zeros", vec![0; 64 * 1024])));
    assert!(siege.nginx.log().iter().all(|line| !line.contains("/hostile")));
}
