//! What policies can know of a TLS connection.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use data_encoding::HEXLOWER;
use rustls::{CipherSuite, ProtocolVersion, ServerConnection};
use sha2::{Digest, Sha256};
use tidegate_policy::{PeerCertificate, Tls, TlsVersion};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::prelude::FromDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// The facts of `connection`, whose handshake is over.
pub(crate) fn facts(connection: &ServerConnection) -> Tls {
    let version = match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => TlsVersion::V1_3,
        _ => TlsVersion::V1_2,
    };
    let mut tls = Tls::new(version);
    tls.cipher = connection
        .negotiated_cipher_suite()
        .map_or("", |suite| cipher(suite.suite()));
    tls.server_name = connection.server_name().map(Into::into);
    tls.alpn = match connection.alpn_protocol() {
        Some(b"h2") => Some("h2"),
        Some(b"http/1.1") => Some("http/1.1"),
        _ => None,
    };
    tls.client_certificate = connection
        .peer_certificates()
        .and_then(|chain| certificate(chain.first()?));
    tls
}

/// The name in IANA's registry; rustls marks those of TLS 1.3.
fn cipher(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or_default(),
    }
}

/// The certificate in `der`.
pub(crate) fn certificate(der: &[u8]) -> Option<PeerCertificate> {
    let (_, parsed) = X509Certificate::from_der(der).ok()?;
    let mut certificate =
        PeerCertificate::new(subject(parsed.subject()), HEXLOWER.encode(&Sha256::digest(der)));
    if let Ok(Some(names)) = parsed.subject_alternative_name() {
        let names = names.value.general_names.iter().filter_map(alternative_name);
        certificate.names = names.map(Into::into).collect();
    }
    Some(certificate)
}

fn alternative_name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => {
            Some((*text).to_owned())
        }
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(|bytes| Ipv4Addr::from(bytes).to_string());
            let v6 = <[u8; 16]>::try_from(*bytes).map(|bytes| Ipv6Addr::from(bytes).to_string());
            v4.or(v6).ok()
        }
        _ => None,
    }
}

/// A distinguished name as RFC 4514 writes it: last part first, special characters escaped, so that nobody's name can look like two.
fn subject(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    let parts: Vec<_> = name.iter_rdn().collect();
    for (index, part) in parts.into_iter().rev().enumerate() {
        if index > 0 {
            text.push(',');
        }
        for (index, attribute) in part.iter().enumerate() {
            if index > 0 {
                text.push('+');
            }
            write_attribute(&mut text, attribute);
        }
    }
    text
}

fn write_attribute(text: &mut String, attribute: &AttributeTypeAndValue<'_>) {
    let kind = attribute.attr_type();
    match (oid2abbrev(kind, oid_registry()), attribute.as_str()) {
        (Ok(kind), Ok(value)) => {
            text.push_str(kind);
            text.push('=');
            write_escaped(text, value);
        }
        // What has no short name, or is no text, is its number and its bytes.
        _ => {
            text.push_str(&kind.to_id_string());
            text.push_str("=#");
            text.push_str(&HEXLOWER.encode(attribute.as_slice()));
        }
    }
}

fn write_escaped(text: &mut String, value: &str) {
    let last = value.chars().count().saturating_sub(1);
    for (index, char) in value.chars().enumerate() {
        let at_an_end = (index == 0 && matches!(char, ' ' | '#')) || (index == last && char == ' ');
        if at_an_end || matches!(char, ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=') {
            text.push('\\');
            text.push(char);
        } else if char.is_control() {
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                // Writing to a text cannot fail.
                let _ = write!(text, "\\{byte:02x}");
            }
        } else {
            text.push(char);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_cannot_look_like_two() {
        let written = |value| {
            let mut text = String::new();
            write_escaped(&mut text, value);
            text
        };
        assert_eq!(written("a,O=b"), r"a\,O\=b");
        assert_eq!(written(" #a "), r"\ #a\ ");
        assert_eq!(written("#a"), r"\#a");
        assert_eq!(written("a\u{0}\n"), r"a\00\0a");
        assert_eq!(written("Zoë"), "Zoë");
    }
}
