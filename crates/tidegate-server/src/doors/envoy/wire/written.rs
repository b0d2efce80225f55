//! Messages as they are written: field by field, straight into the buffer that is sent.

use bytes::Bytes;
use http::HeaderMap;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

/// Room for a usual answer. The buffer grows if that does not do.
const USUAL_BYTES: usize = 1024;

/// A message that is being written, behind room for its prefix. What is zero or empty is left out, as the protocol has it.
pub(crate) struct Written(Vec<u8>);

impl Written {
    /// What stands before a message of gRPC: whether it is compressed, and its length in four bytes.
    pub(in crate::doors::envoy) const PREFIX_BYTES: usize = 5;

    /// Nothing yet.
    pub(in crate::doors::envoy) fn new() -> Self {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        bytes.extend([0; Self::PREFIX_BYTES]);
        Self(bytes)
    }

    /// The message alone.
    pub(crate) fn bytes_of_message(&self) -> &[u8] {
        &self.0[Self::PREFIX_BYTES..]
    }

    /// The message behind its prefix.
    pub(in crate::doors::envoy) fn framed(mut self) -> Bytes {
        // No answer is that long.
        let length = u32::try_from(self.bytes_of_message().len()).unwrap_or(u32::MAX);
        self.0[1..Self::PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
        self.0.into()
    }

    /// A whole number. Enums are such, and so is `true`.
    pub(in crate::doors::envoy) fn number(&mut self, tag: u32, number: u64) {
        if number != 0 {
            encode_key(tag, WireType::Varint, &mut self.0);
            encode_varint(number, &mut self.0);
        }
    }

    /// A number of type `double`, also if it is zero.
    pub(in crate::doors::envoy) fn double(&mut self, tag: u32, number: f64) {
        encode_key(tag, WireType::SixtyFourBit, &mut self.0);
        self.0.extend(number.to_le_bytes());
    }

    /// Text or bytes.
    pub(in crate::doors::envoy) fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.item(tag, bytes);
        }
    }

    /// Text or bytes in a list, also if there are none.
    pub(in crate::doors::envoy) fn item(&mut self, tag: u32, bytes: &[u8]) {
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
    }

    /// The message that `write` adds.
    pub(in crate::doors::envoy) fn message(&mut self, tag: u32, write: impl FnOnce(&mut Self)) {
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        let place = self.0.len();
        // Most lengths have one byte.
        self.0.push(0);
        write(self);
        let length = (self.0.len() - place - 1) as u64;
        if let (Some(byte), true) = (self.0.get_mut(place), length < 0x80) {
            *byte = length.to_le_bytes()[0];
            return;
        }
        let mut long = Vec::with_capacity(encoded_len_varint(length));
        encode_varint(length, &mut long);
        self.0.splice(place..=place, long);
    }

    /// `envoy.config.core.v3.HeaderValue` of each field.
    pub(in crate::doors::envoy) fn fields(&mut self, tag: u32, fields: &HeaderMap) {
        for (name, value) in fields {
            self.message(tag, |header| header.field(name.as_str(), value));
        }
    }

    /// `HeaderValueOption` of each field, in the place of what there is under its name.
    pub(in crate::doors::envoy) fn fields_in_place(&mut self, tag: u32, fields: &HeaderMap) {
        /// `OVERWRITE_IF_EXISTS_OR_ADD`.
        const OVERWRITE: u64 = 2;
        for (name, value) in fields {
            self.message(tag, |option| {
                option.message(1, |header| header.field(name.as_str(), value));
                option.number(3, OVERWRITE);
            });
        }
    }

    fn field(&mut self, name: &str, value: &http::HeaderValue) {
        self.bytes(1, name.as_bytes());
        // `value`, or `raw_value` if it is no text.
        let tag = if value.to_str().is_ok() { 2 } else { 3 };
        self.bytes(tag, value.as_bytes());
    }

    /// A text in a `google.protobuf.Struct`.
    pub(in crate::doors::envoy) fn text_of_struct(&mut self, key: &str, text: &str) {
        self.entry_of_struct(key, |value| value.item(3, text.as_bytes()));
    }

    /// A number in a `google.protobuf.Struct`.
    #[expect(clippy::cast_precision_loss, reason = "all numbers of a Struct are doubles")]
    pub(in crate::doors::envoy) fn number_of_struct(&mut self, key: &str, number: u64) {
        self.entry_of_struct(key, |value| value.double(2, number as f64));
    }

    fn entry_of_struct(&mut self, key: &str, write: impl FnOnce(&mut Self)) {
        self.message(1, |entry| {
            entry.bytes(1, key.as_bytes());
            entry.message(2, write);
        });
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use prost::Message;

    use super::*;
    use crate::doors::envoy::wire::rate_limit::RateLimitResponse;
    use crate::doors::envoy::wire::{self, Struct, StructEntry, StructValue};

    fn read(written: &Written) -> RateLimitResponse {
        RateLimitResponse::decode(written.bytes_of_message()).unwrap()
    }

    #[test]
    fn messages_of_any_length_are_read_as_they_were_written() {
        for length in [0, 1, 0x7f - 4, 0x7f - 3, 0x7f, 0x80, 0x3fff, 0x4000, 0x20_0000] {
            let mut written = Written::new();
            let text = "v".repeat(length);
            let fields = HeaderMap::from_iter([(
                http::HeaderName::from_static("x"),
                HeaderValue::try_from(&text).unwrap(),
            )]);
            written.fields(3, &fields);
            written.bytes(5, b"behind");
            let read = read(&written);
            assert_eq!(read.response_headers_to_add[0].value, text);
            assert_eq!(read.raw_body, "behind");
            // The shortest form, which is the one that prost writes.
            assert_eq!(read.encode_to_vec(), written.bytes_of_message(), "{length}");
        }
    }

    #[test]
    fn a_field_that_is_no_text_is_told_in_bytes() {
        let fields = HeaderMap::from_iter([(
            http::HeaderName::from_static("x"),
            HeaderValue::from_bytes(b"\xff").unwrap(),
        )]);
        let mut written = Written::new();
        written.fields(3, &fields);
        let value = wire::HeaderValue {
            key: "x".into(),
            value: Bytes::new(),
            raw_value: Bytes::from_static(b"\xff"),
        };
        assert_eq!(read(&written).response_headers_to_add, [value]);
    }

    #[test]
    fn a_struct_keeps_what_is_zero_or_empty() {
        let mut written = Written::new();
        written.message(6, |told| {
            told.text_of_struct("text", "");
            told.number_of_struct("number", 0);
        });
        let entry = |key: &'static str, number, text| StructEntry {
            key: key.into(),
            value: Some(StructValue { number, text }),
        };
        let fields = vec![
            entry("text", None, Some(Bytes::new())),
            entry("number", Some(0.0), None),
        ];
        assert_eq!(read(&written).dynamic_metadata, Some(Struct { fields }));
    }

    #[test]
    fn a_message_stands_behind_its_length() {
        let mut written = Written::new();
        written.number(1, 300);
        assert_eq!(&*written.framed(), b"\0\0\0\0\x03\x08\xac\x02");
    }
}
