//! What a server of Redis answers, in version 2 or 3 of the protocol.

/// Answers on their way to one client, in order.
#[derive(Debug, Default)]
pub(super) struct Replies {
    bytes: Vec<u8>,
    /// Whether the client speaks version 3.
    pub(super) is_v3: bool,
}

/// The longest error. Part of it is what the client sent.
const MAX_ERROR_BYTES: usize = 512;

impl Replies {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// They were sent.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A word, without line breaks.
    pub(super) fn word(&mut self, word: &str) {
        self.line(b'+', word.as_bytes());
    }

    /// An error, by a line that begins with its kind.
    pub(super) fn error(&mut self, line: &[u8]) {
        let line = line.get(..MAX_ERROR_BYTES).unwrap_or(line);
        self.bytes.push(b'-');
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        self.bytes
            .extend(line.iter().map(|byte| if is_break(byte) { b' ' } else { *byte }));
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(super) fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.number(b'$', length(bytes.len()));
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(super) fn nothing(&mut self) {
        self.bytes
            .extend_from_slice(if self.is_v3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// So many answers that belong together follow.
    pub(super) fn array(&mut self, count: usize) {
        self.number(b'*', length(count));
    }

    /// So many pairs of answers follow, each a name and what it stands for.
    pub(super) fn map(&mut self, pairs: usize) {
        if self.is_v3 {
            self.number(b'%', length(pairs));
        } else {
            self.array(pairs * 2);
        }
    }

    fn line(&mut self, kind: u8, bytes: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn number(&mut self, kind: u8, number: i64) {
        self.line(kind, itoa::Buffer::new().format(number).as_bytes());
    }
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_sent_breaks_no_line_and_is_cut() {
        let mut replies = Replies::default();
        replies.error(b"ERR a\r\n+OK\r\n");
        assert_eq!(replies.bytes(), b"-ERR a  +OK  \r\n");
        replies.clear();
        replies.error(&[b'a'; MAX_ERROR_BYTES + 1]);
        assert_eq!(replies.bytes().len(), MAX_ERROR_BYTES + 3);
    }

    #[test]
    fn each_version_has_its_own_nothing_and_its_own_maps() {
        let written = |is_v3| {
            let mut replies = Replies {
                is_v3,
                ..Replies::default()
            };
            replies.map(1);
            replies.string(b"a");
            replies.nothing();
            String::from_utf8(replies.bytes).unwrap()
        };
        assert_eq!(written(false), "*2\r\n$1\r\na\r\n$-1\r\n");
        assert_eq!(written(true), "%1\r\n$1\r\na\r\n_\r\n");
    }
}
