//! What HAProxy is told: variables of the transaction, which its rules then read.

use http::{HeaderMap, HeaderName, StatusCode};

use super::data::{put_string, put_text, put_unsigned};
use super::frame::{FRAME_OVERHEAD, Name, acknowledge};

const SET_VARIABLE: u8 = 1;
const ARGUMENTS: u8 = 3;
const TRANSACTION: u8 = 2;

/// The longest name of a variable. HAProxy joins its own prefix to it.
const MAX_NAME_BYTES: usize = 100;

/// Variables for one frame, no more of them than fit into it: those that matter most are told first.
#[derive(Debug)]
pub(super) struct Variables {
    actions: Vec<u8>,
    most: usize,
}

impl Variables {
    /// None yet, for a frame of at most `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            actions: Vec::new(),
            most: most.saturating_sub(FRAME_OVERHEAD),
        }
    }

    /// Sets `name` to text.
    pub(super) fn text(&mut self, name: &str, text: &[u8]) {
        self.set(name.as_bytes(), |into| put_text(text, into));
    }

    /// Sets `status` to a status.
    pub(super) fn status(&mut self, status: StatusCode) {
        self.set(b"status", |into| put_unsigned(status.as_u16().into(), into));
    }

    /// Sets a variable for each of `fields`, called as they are, with `_` for `-`, behind `prefix`.
    pub(super) fn fields(&mut self, prefix: &str, fields: &HeaderMap) {
        for name in fields.keys() {
            let values: Vec<&[u8]> = fields
                .get_all(name)
                .iter()
                .map(|value| value.as_bytes())
                .collect();
            self.set(called(prefix, name).as_bytes(), |into| {
                put_text(&values.join(&b", "[..]), into)
            });
        }
    }

    fn set(&mut self, name: &[u8], value: impl FnOnce(&mut Vec<u8>)) {
        if name.len() > MAX_NAME_BYTES {
            return;
        }
        let before = self.actions.len();
        self.actions.extend([SET_VARIABLE, ARGUMENTS, TRANSACTION]);
        put_string(name, &mut self.actions);
        value(&mut self.actions);
        if self.actions.len() > self.most {
            self.actions.truncate(before);
        }
    }

    /// The frame that answers `name`.
    pub(super) fn acknowledge(&self, name: Name) -> Vec<u8> {
        let mut frame = Vec::with_capacity(self.actions.len() + FRAME_OVERHEAD + 4);
        acknowledge(name, &mut frame, |into| into.extend_from_slice(&self.actions));
        frame
    }
}

fn called(prefix: &str, name: &HeaderName) -> String {
    let mut called = String::from(prefix);
    called.extend(name.as_str().chars().map(|letter| match letter {
        '-' => '_',
        other => other,
    }));
    called
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::super::data::Reader;
    use super::*;

    /// The names of what is set, in order.
    fn set(variables: &Variables) -> Vec<String> {
        let mut reader = Reader(&variables.actions);
        let mut names = Vec::new();
        while !reader.is_empty() {
            assert_eq!(reader.take(3).unwrap(), [1, 3, 2]);
            names.push(String::from_utf8(reader.string().unwrap().to_vec()).unwrap());
            reader.value().unwrap();
        }
        names
    }

    #[test]
    fn fields_become_variables_by_their_names() {
        let mut fields = HeaderMap::new();
        fields.append("x-ratelimit-limit", HeaderValue::from_static("2"));
        fields.append("ratelimit", HeaderValue::from_static("a"));
        fields.append("ratelimit", HeaderValue::from_static("b"));
        let mut variables = Variables::new(1_000);
        variables.fields("client.", &fields);
        assert_eq!(set(&variables), ["client.x_ratelimit_limit", "client.ratelimit"]);
        let actions = String::from_utf8_lossy(&variables.actions).into_owned();
        assert!(actions.ends_with("a, b"), "{actions}");
    }

    #[test]
    fn what_does_not_fit_into_a_frame_is_left_out_and_what_does_is_not() {
        let mut variables = Variables::new(256);
        variables.text("verdict", b"reject");
        variables.text("body", &[b'a'; 1_000]);
        variables.status(StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(set(&variables), ["verdict", "status"]);
        let longest = Name {
            stream: u64::MAX,
            frame: u64::MAX,
        };
        for length in 0..300 {
            let mut variables = Variables::new(256);
            variables.text("body", &vec![b'a'; length]);
            assert!(variables.acknowledge(longest).len() <= 256 + 4, "{length}");
        }
    }
}
