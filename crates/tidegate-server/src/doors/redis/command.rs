//! What clients of Redis say beside `CL.THROTTLE`: enough that their libraries connect, and that people look around.

use sha2::{Digest, Sha256};

use super::reply::Replies;

/// What is known of one client.
#[derive(Debug)]
pub(super) struct Talk {
    /// The digest of the password that it has to say, if any.
    password: Option<[u8; 32]>,
    is_known: bool,
    /// Its number, as clients ask for it.
    number: i64,
    name: Vec<u8>,
}

/// Whether the client goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It goes on.
    On,
    /// It has said farewell.
    Over,
}

/// What those are told who do not say the password first.
const UNKNOWN: &[u8] = b"NOAUTH Authentication required.";
const WRONG_PASSWORD: &[u8] = b"WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &[u8] = b"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?";
const HELLO_FIRST: &[u8] = b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";
const SYNTAX: &[u8] = b"ERR syntax error";

impl Talk {
    /// A client that has said nothing yet, and has to say the password with this digest if there is one.
    pub(super) fn new(password: Option<[u8; 32]>, number: i64) -> Self {
        Self {
            is_known: password.is_none(),
            password,
            number,
            name: Vec::new(),
        }
    }

    /// Whether it may ask for decisions.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.is_known
    }

    /// The same; told so if it may not.
    pub(super) fn is_known(&self, replies: &mut Replies) -> bool {
        if !self.is_known {
            replies.error(UNKNOWN);
        }
        self.is_known
    }

    /// Answers the command `name`, any but `CL.THROTTLE`.
    pub(super) fn answer(&mut self, name: &[u8], arguments: &[&[u8]], replies: &mut Replies) -> Then {
        let lower = name.to_ascii_lowercase();
        match &*lower {
            b"quit" => {
                replies.word("OK");
                return Then::Over;
            }
            b"reset" => self.reset(replies),
            b"auth" => self.auth(arguments, replies),
            b"hello" => self.hello(arguments, replies),
            _ if !self.is_known(replies) => {}
            b"ping" => match arguments {
                [] => replies.word("PONG"),
                [text] => replies.string(text),
                _ => wrong_number(&lower, replies),
            },
            b"echo" => match arguments {
                [text] => replies.string(text),
                _ => wrong_number(&lower, replies),
            },
            b"select" => match arguments {
                [b"0"] => replies.word("OK"),
                [_] => replies.error(b"ERR DB index is out of range"),
                _ => wrong_number(&lower, replies),
            },
            b"client" => self.client(arguments, replies),
            b"command" => commands(arguments, replies),
            b"info" => replies.string(info().as_bytes()),
            _ => unknown(name, arguments, replies),
        }
        Then::On
    }

    fn reset(&mut self, replies: &mut Replies) {
        *self = Self::new(self.password, self.number);
        replies.is_v3 = false;
        replies.word("RESET");
    }

    fn auth(&mut self, arguments: &[&[u8]], replies: &mut Replies) {
        let (user, password) = match arguments {
            [password] => (&b"default"[..], password),
            [user, password] => (*user, password),
            _ => return wrong_number(b"auth", replies),
        };
        if self.password.is_none() && arguments.len() == 1 {
            return replies.error(NO_PASSWORD);
        }
        if self.admits(user, password) {
            replies.word("OK");
        } else {
            replies.error(WRONG_PASSWORD);
        }
    }

    /// Whether that is the password. Digests are compared, so that how long it takes tells nothing.
    fn admits(&mut self, user: &[u8], password: &[u8]) -> bool {
        let is_right = self
            .password
            .is_none_or(|digest| <[u8; 32]>::from(Sha256::digest(password)) == digest);
        let admitted = user == b"default" && is_right;
        self.is_known |= admitted;
        admitted
    }

    /// The version of the protocol, perhaps with password and name.
    fn hello(&mut self, arguments: &[&[u8]], replies: &mut Replies) {
        let (version, mut rest) = match arguments.split_first() {
            None => (None, arguments),
            Some((version, rest)) => (Some(*version), rest),
        };
        let is_v3 = match version {
            None => replies.is_v3,
            Some(b"2") => false,
            Some(b"3") => true,
            Some(other) if other.iter().all(u8::is_ascii_digit) => {
                return replies.error(b"NOPROTO unsupported protocol version");
            }
            Some(_) => return replies.error(b"ERR Protocol version is not an integer or out of range"),
        };
        let mut name = None;
        while let Some((option, values)) = rest.split_first() {
            rest = match (&*option.to_ascii_lowercase(), values) {
                (b"auth", [user, password, rest @ ..]) => {
                    if !self.admits(user, password) {
                        return replies.error(WRONG_PASSWORD);
                    }
                    rest
                }
                (b"setname", [said, rest @ ..]) => {
                    name = Some(*said);
                    rest
                }
                _ => return replies.error(SYNTAX),
            };
        }
        if !self.is_known {
            return replies.error(HELLO_FIRST);
        }
        replies.is_v3 = is_v3;
        if let Some(name) = name {
            self.name = name.to_vec();
        }
        self.greet(replies);
    }

    fn greet(&self, replies: &mut Replies) {
        replies.map(7);
        for (name, value) in [("server", "tidegate"), ("version", env!("CARGO_PKG_VERSION"))] {
            replies.string(name.as_bytes());
            replies.string(value.as_bytes());
        }
        replies.string(b"proto");
        replies.integer(if replies.is_v3 { 3 } else { 2 });
        replies.string(b"id");
        replies.integer(self.number);
        for (name, value) in [("mode", "standalone"), ("role", "master")] {
            replies.string(name.as_bytes());
            replies.string(value.as_bytes());
        }
        replies.string(b"modules");
        replies.array(0);
    }

    fn client(&mut self, arguments: &[&[u8]], replies: &mut Replies) {
        let Some((name, rest)) = arguments.split_first() else {
            return wrong_number(b"client", replies);
        };
        match (&*name.to_ascii_lowercase(), rest) {
            (b"setname", [said]) => {
                self.name = said.to_vec();
                replies.word("OK");
            }
            (b"getname", []) if self.name.is_empty() => replies.nothing(),
            (b"getname", []) => replies.string(&self.name),
            (b"setinfo", [_, _]) => replies.word("OK"),
            (b"id", []) => replies.integer(self.number),
            (b"setname" | b"getname" | b"setinfo" | b"id", _) => {
                wrong_number(&[b"client|", &*name.to_ascii_lowercase()].concat(), replies);
            }
            _ => replies.error(&[b"ERR unknown subcommand '", *name, b"'. Try CLIENT HELP."].concat()),
        }
    }
}

/// What libraries ask to learn where keys stand.
fn commands(arguments: &[&[u8]], replies: &mut Replies) {
    let Some((name, rest)) = arguments.split_first() else {
        replies.array(1);
        return throttle(replies);
    };
    match &*name.to_ascii_lowercase() {
        b"count" => replies.integer(1),
        b"docs" => replies.map(0),
        b"list" => {
            replies.array(1);
            replies.string(b"cl.throttle");
        }
        b"info" => {
            replies.array(rest.len());
            for name in rest {
                if name.eq_ignore_ascii_case(b"cl.throttle") {
                    throttle(replies);
                } else {
                    replies.nothing();
                }
            }
        }
        _ => replies.error(&[b"ERR unknown subcommand '", *name, b"'. Try COMMAND HELP."].concat()),
    }
}

/// The entry of `CL.THROTTLE`: any number of arguments, and one key, the first.
fn throttle(replies: &mut Replies) {
    replies.array(6);
    replies.string(b"cl.throttle");
    replies.integer(-1);
    replies.array(1);
    replies.word("write");
    for number in [1, 1, 1] {
        replies.integer(number);
    }
}

fn info() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("# Server\r\ntidegate_version:{version}\r\nredis_mode:standalone\r\n")
}

fn wrong_number(name: &[u8], replies: &mut Replies) {
    replies.error(&[b"ERR wrong number of arguments for '", name, b"' command"].concat());
}

/// As much of the arguments is repeated as Redis repeats.
const REPEATED_BYTES: usize = 128;

fn unknown(name: &[u8], arguments: &[&[u8]], replies: &mut Replies) {
    let name = name.get(..REPEATED_BYTES).unwrap_or(name);
    let mut line = [b"ERR unknown command '", name, b"', with args beginning with: "].concat();
    let begin = line.len();
    for argument in arguments {
        let left = REPEATED_BYTES.saturating_sub(line.len() - begin);
        if left == 0 {
            break;
        }
        line.push(b'\'');
        line.extend_from_slice(argument.get(..left).unwrap_or(argument));
        line.extend_from_slice(b"' ");
    }
    replies.error(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(talk: &mut Talk, line: &str) -> String {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let mut replies = Replies::default();
        talk.answer(words[0], &words[1..], &mut replies);
        String::from_utf8(replies.bytes().to_vec()).unwrap()
    }

    fn open() -> Talk {
        Talk::new(None, 7)
    }

    fn closed() -> Talk {
        Talk::new(Some(Sha256::digest(b"secret").into()), 7)
    }

    #[test]
    fn what_redis_says_is_said() {
        for (line, answer) in [
            ("PING", "+PONG\r\n"),
            ("ping hello", "$5\r\nhello\r\n"),
            ("echo a", "$1\r\na\r\n"),
            (
                "ping a b",
                "-ERR wrong number of arguments for 'ping' command\r\n",
            ),
            ("select 0", "+OK\r\n"),
            ("select 99", "-ERR DB index is out of range\r\n"),
            ("client id", ":7\r\n"),
            (
                "client foo",
                "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n",
            ),
            ("command count", ":1\r\n"),
            ("command docs", "*0\r\n"),
            ("hello 4", "-NOPROTO unsupported protocol version\r\n"),
            (
                "hello x",
                "-ERR Protocol version is not an integer or out of range\r\n",
            ),
            ("hello 3 foo", "-ERR syntax error\r\n"),
            (
                "foo bar baz",
                "-ERR unknown command 'foo', with args beginning with: 'bar' 'baz' \r\n",
            ),
        ] {
            assert_eq!(said(&mut open(), line), answer, "{line}");
        }
        assert!(said(&mut open(), "auth x").starts_with("-ERR AUTH <password> called without any password"));
        assert_eq!(said(&mut open(), "auth default anything"), "+OK\r\n");
        assert!(said(&mut open(), "hello 3").starts_with("%7\r\n$6\r\nserver\r\n$8\r\ntidegate\r\n"));
    }

    #[test]
    fn a_name_is_kept_until_it_is_reset() {
        let mut talk = open();
        said(&mut talk, "hello 2 setname me");
        assert_eq!(said(&mut talk, "client getname"), "$2\r\nme\r\n");
        assert_eq!(said(&mut talk, "reset"), "+RESET\r\n");
        assert_eq!(said(&mut talk, "client getname"), "$-1\r\n");
    }

    #[test]
    fn nobody_is_answered_who_does_not_say_the_password() {
        for line in ["ping", "echo a", "command", "info", "client id", "foo"] {
            assert_eq!(
                said(&mut closed(), line),
                "-NOAUTH Authentication required.\r\n",
                "{line}"
            );
        }
        assert!(said(&mut closed(), "hello 3").starts_with("-NOAUTH HELLO must be called"));
        for line in ["auth wrong", "auth other secret", "hello 3 auth default wrong"] {
            let mut talk = closed();
            assert!(said(&mut talk, line).starts_with("-WRONGPASS "), "{line}");
            assert!(said(&mut talk, "ping").starts_with("-NOAUTH"), "{line}");
        }
        for line in [
            "auth secret",
            "auth default secret",
            "hello 3 auth default secret",
        ] {
            let mut talk = closed();
            said(&mut talk, line);
            assert_eq!(said(&mut talk, "ping"), "+PONG\r\n", "{line}");
            said(&mut talk, "reset");
            assert!(said(&mut talk, "ping").starts_with("-NOAUTH"), "{line}");
        }
    }

    #[test]
    fn little_of_an_unknown_command_is_repeated() {
        let long = "a".repeat(1_000);
        let answer = said(&mut open(), &format!("{long} {long} {long}"));
        assert!(answer.len() < 330, "{}", answer.len());
    }
}
