//! Calls of the rate limit service, described by whoever makes them.

use serde::Serialize;

/// A question: whether what descriptors stand for may pass, by the policies about their domain. So whatever can be counted can be asked about, not only requests.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    domain: String,
    descriptors: Vec<Descriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    peek: bool,
}

/// One of the things that a [`Call`] is about: entries of key and value, in their order.
#[derive(Clone, Debug, Serialize)]
pub struct Descriptor {
    entries: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
struct Entry {
    key: String,
    value: String,
}

impl Call {
    /// A call of `domain`, which policies have in `match.domain`. It needs a descriptor at least.
    pub fn of(domain: impl Into<String>) -> Self {
        Self {
            domain: domain.into(),
            descriptors: Vec::new(),
            hits: None,
            peek: false,
        }
    }

    /// And this is asked about, too: up to 64 may be.
    #[must_use]
    pub fn descriptor(mut self, descriptor: impl Into<Descriptor>) -> Self {
        self.descriptors.push(descriptor.into());
        self
    }

    /// What each descriptor costs that does not say so itself. 0 only looks.
    #[must_use]
    pub fn hits(self, hits: u64) -> Self {
        Self {
            hits: Some(hits),
            ..self
        }
    }

    /// Only look: what would be decided now. Nothing is spent.
    #[must_use]
    pub fn peek(self) -> Self {
        Self { peek: true, ..self }
    }
}

impl Descriptor {
    /// One with these entries: up to 16.
    pub fn of<K: Into<String>, V: Into<String>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        let entry = |(key, value): (K, V)| Entry {
            key: key.into(),
            value: value.into(),
        };
        Self {
            entries: entries.into_iter().map(entry).collect(),
            hits: None,
        }
    }

    /// What it costs. 0 only looks.
    #[must_use]
    pub fn hits(self, hits: u64) -> Self {
        Self {
            hits: Some(hits),
            ..self
        }
    }
}

impl<K: Into<String>, V: Into<String>, const ENTRIES: usize> From<[(K, V); ENTRIES]> for Descriptor {
    fn from(entries: [(K, V); ENTRIES]) -> Self {
        Self::of(entries)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_written_as_the_door_reads_it() {
        let call = Call::of("shop").descriptor([("user", "zoe")]);
        let expected =
            json!({ "domain": "shop", "descriptors": [{ "entries": [{ "key": "user", "value": "zoe" }] }] });
        assert_eq!(serde_json::to_value(call).unwrap(), expected);
        let call = Call::of("shop")
            .descriptor(Descriptor::of([("path", "/a")]).hits(0))
            .hits(3)
            .peek();
        let expected = json!({
            "domain": "shop",
            "descriptors": [{ "entries": [{ "key": "path", "value": "/a" }], "hits": 0 }],
            "hits": 3,
            "peek": true,
        });
        assert_eq!(serde_json::to_value(call).unwrap(), expected);
    }
}
