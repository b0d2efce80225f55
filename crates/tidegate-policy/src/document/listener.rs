//! An item of `gateway.listen`, as typed.

use super::fields::{Fields, one_or_many};
use super::node::{Node, Place, Spanned, Value};
use super::report::Report;
use super::scalar;
use crate::config::{Demand, ProxyProtocol, TlsVersion, UnknownNames};

/// An address to listen on, as typed.
#[derive(Debug)]
pub(crate) struct ListenerText {
    pub(crate) address: Spanned<String>,
    pub(crate) tls: Option<TlsText>,
    pub(crate) proxy_protocol: Option<Spanned<ProxyProtocol>>,
}

/// `tls` of a listener, as typed.
#[derive(Debug)]
pub(crate) struct TlsText {
    pub(crate) certificates: Vec<CertificateText>,
    pub(crate) client_ca: Option<Spanned<String>>,
    pub(crate) client_auth: Option<Spanned<Demand>>,
    pub(crate) min_version: Option<Spanned<TlsVersion>>,
    pub(crate) strict_sni: Option<Spanned<UnknownNames>>,
}

/// A certificate and its key, as typed.
#[derive(Debug)]
pub(crate) struct CertificateText {
    pub(crate) certificate: Spanned<String>,
    pub(crate) key: Spanned<String>,
}

/// One listener, or a list of them.
pub(crate) fn listeners(node: &Node, report: &mut Report<'_>) -> Option<Vec<ListenerText>> {
    let items = one_or_many(node);
    not_empty(items, node.at, report)?;
    Some(
        items
            .iter()
            .filter_map(|item| ListenerText::read(item, report))
            .collect(),
    )
}

impl ListenerText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Map(_)) {
            let address = scalar::text(node, report)?;
            return Some(Self {
                address,
                tls: None,
                proxy_protocol: None,
            });
        }
        let mut fields = Fields::of(node, "a listener", report)?;
        let address = fields
            .require("address", "0.0.0.0:8443", report)
            .and_then(|node| scalar::text(node, report));
        let tls = fields.read("tls", report, TlsText::read);
        let proxy_protocol = fields.read("proxy_protocol", report, |node, report| {
            let words = [
                ("v1", ProxyProtocol::V1),
                ("v2", ProxyProtocol::V2),
                ("any", ProxyProtocol::Any),
            ];
            scalar::choice(node, &words, report)
        });
        fields.finish(report);
        Some(Self {
            address: address?,
            tls,
            proxy_protocol,
        })
    }
}

impl TlsText {
    pub(crate) fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "`tls`", report)?;
        let certificates = fields
            .require(
                "certificates",
                "[{ certificate: cert.pem, key: key.pem }]",
                report,
            )
            .and_then(|node| certificates(node, report));
        let tls = Self {
            client_ca: fields.read("client_ca", report, scalar::text),
            client_auth: fields.read("client_auth", report, |node, report| {
                let words = [("require", Demand::Required), ("optional", Demand::Optional)];
                scalar::choice(node, &words, report)
            }),
            min_version: fields.read("min_version", report, |node, report| {
                let words = [("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];
                scalar::choice(node, &words, report)
            }),
            strict_sni: fields.read("strict_sni", report, |node, report| {
                let words = [
                    ("false", UnknownNames::GetTheFirst),
                    ("true", UnknownNames::AreRefused),
                ];
                scalar::choice(node, &words, report)
            }),
            certificates: certificates.unwrap_or_default(),
        };
        fields.finish(report);
        Some(tls)
    }
}

fn certificates(node: &Node, report: &mut Report<'_>) -> Option<Vec<CertificateText>> {
    let items = one_or_many(node);
    not_empty(items, node.at, report)?;
    Some(
        items
            .iter()
            .filter_map(|item| CertificateText::read(item, report))
            .collect(),
    )
}

impl CertificateText {
    fn read(node: &Node, report: &mut Report<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a certificate", report)?;
        let mut file = |name, example, report: &mut Report<'_>| {
            let node = fields.require(name, example, report)?;
            scalar::text(node, report)
        };
        let certificate = file("certificate", "cert.pem", report);
        let key = file("key", "key.pem", report);
        fields.finish(report);
        Some(Self {
            certificate: certificate?,
            key: key?,
        })
    }
}

fn not_empty(items: &[Node], at: Place, report: &mut Report<'_>) -> Option<()> {
    if items.is_empty() {
        let cure = "write at least one, or remove the field if it is not needed";
        report.error(at, "this list is empty", cure);
        return None;
    }
    Some(())
}
