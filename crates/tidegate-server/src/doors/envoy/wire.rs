//! The messages, by the numbers of their fields. Only what is served here: fields of other numbers are skipped.
//!
//! Texts are bytes that share the buffer a message came in. Whoever reads one checks that it is text.

pub(crate) mod auth;
pub(crate) mod health;
pub(crate) mod rate_limit;

use bytes::Bytes;
use http::HeaderMap;

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct HeaderValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) value: Bytes,
    /// A value that is no text.
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) raw_value: Bytes,
}

impl HeaderValue {
    /// Each of `fields`. All texts share one buffer.
    pub(super) fn all_of(fields: &HeaderMap) -> Vec<Self> {
        let mut texts = Vec::with_capacity(
            fields
                .iter()
                .map(|(name, value)| name.as_str().len() + value.len())
                .sum(),
        );
        for (name, value) in fields {
            texts.extend_from_slice(name.as_str().as_bytes());
            texts.extend_from_slice(value.as_bytes());
        }
        let mut texts = Bytes::from(texts);
        let each = fields.iter().map(|(name, value)| {
            let (key, text) = (texts.split_to(name.as_str().len()), texts.split_to(value.len()));
            let (value, raw_value) = match value.to_str() {
                Ok(_) => (text, Bytes::new()),
                Err(_) => (Bytes::new(), text),
            };
            Self {
                key,
                value,
                raw_value,
            }
        });
        each.collect()
    }
}

/// `google.protobuf.Duration`; also `Timestamp`, which has the same fields.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Duration {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

impl From<std::time::Duration> for Duration {
    fn from(span: std::time::Duration) -> Self {
        Self {
            seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(span.subsec_nanos()).unwrap_or_default(),
        }
    }
}

/// `google.protobuf.UInt64Value`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct UInt64Value {
    #[prost(uint64, tag = "1")]
    pub(crate) value: u64,
}

/// `google.protobuf.Struct`, whose map is a list of its entries on the wire.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Struct {
    #[prost(message, repeated, tag = "1")]
    pub(crate) fields: Vec<StructEntry>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StructEntry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) key: Bytes,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<StructValue>,
}

/// `google.protobuf.Value`, of which one field is set.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StructValue {
    #[prost(double, optional, tag = "2")]
    pub(crate) number: Option<f64>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) text: Option<Bytes>,
}

impl Struct {
    /// One more field, a text.
    #[must_use]
    pub(super) fn with_text(self, key: &'static str, text: &str) -> Self {
        let value = StructValue {
            number: None,
            text: Some(Bytes::copy_from_slice(text.as_bytes())),
        };
        self.with(key, value)
    }

    /// One more field, a number.
    #[must_use]
    pub(super) fn with_number(self, key: &'static str, number: u64) -> Self {
        let value = StructValue {
            // Whoever reads it has no other numbers.
            #[expect(clippy::cast_precision_loss, reason = "all numbers of a Struct are doubles")]
            number: Some(number as f64),
            text: None,
        };
        self.with(key, value)
    }

    fn with(mut self, key: &'static str, value: StructValue) -> Self {
        self.fields.push(StructEntry {
            key: Bytes::from_static(key.as_bytes()),
            value: Some(value),
        });
        self
    }
}
