//! A JSON object, written field by field.

use std::io::Write;

/// A JSON object in the making.
pub(super) struct Object(Vec<u8>);

/// The longest text, in bytes. What a client sends is cut there.
const MOST_TEXT_BYTES: usize = 2048;

impl Object {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut text = Vec::with_capacity(bytes);
        text.push(b'{');
        Self(text)
    }

    /// A text, with everything escaped that JSON asks for.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut self.0, cut(value));
    }

    /// A text, if there is one.
    pub(super) fn maybe_text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        let _ = write!(self.0, "{value}");
    }

    pub(super) fn maybe_number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// The object and a line break.
    pub(super) fn line(mut self) -> Vec<u8> {
        self.0.extend_from_slice(b"}\n");
        self.0
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        // Names are ours and need no escapes.
        let _ = write!(self.0, "\"{name}\":");
    }
}

/// The beginning of `text`, at most [`MOST_TEXT_BYTES`].
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MOST_TEXT_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_end_its_line_or_its_object() {
        let mut object = Object::with_capacity(64);
        object.text("path", "/\"},\n\u{1b}[2J\u{0}é");
        object.number("status", 200);
        let line = object.line();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(!line.contains(&0x1b) && !line.contains(&0));
        let read: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(read["path"], "/\"},\n\u{1b}[2J\u{0}é");
        assert_eq!(read["status"], 200);
    }

    #[test]
    fn a_text_is_cut_at_its_bound_and_never_within_a_character() {
        let longest = "a".repeat(MOST_TEXT_BYTES);
        assert_eq!(cut(&longest), longest);
        assert_eq!(cut(&format!("{longest}a")), longest);
        let accent = format!("{}é", "a".repeat(MOST_TEXT_BYTES - 1));
        assert_eq!(cut(&accent).len(), MOST_TEXT_BYTES - 1);
    }
}
