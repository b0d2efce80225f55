//! What clients of Redis send: commands as arrays of strings, or as lines.
//!
//! A parser of its own, since a server reads next to nothing of the protocol: no type but this one array, which may not be nested. It
//! borrows all it finds, and refuses what is too long by its announcement, before it has come.

use smallvec::SmallVec;

/// The most arguments of a command, its name included.
pub(crate) const MAX_ARGUMENTS: usize = 1024;

/// The longest argument. A key of a limit is a name.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// The longest command, and so what a connection may hold.
pub(crate) const MAX_COMMAND_BYTES: usize = 64 * 1024;

/// The longest number that announces a length.
const MAX_DIGITS: usize = 20;

/// The arguments of a command, its name first.
pub(crate) type Arguments<'b> = SmallVec<[&'b [u8]; 8]>;

/// What stands at the front of what came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded<'b> {
    /// A command, without arguments if it says nothing, and how many bytes it takes.
    Command(Arguments<'b>, usize),
    /// The beginning of one.
    Unfinished,
    /// Something else. Nothing behind it can be understood.
    Wrong(Misspoken),
}

/// How a client misspoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misspoken {
    /// The number of arguments is none, or too large.
    Count,
    /// The length of an argument is none, too large, or not where it ends.
    Length,
    /// This byte stands where an argument begins.
    Type(u8),
    /// The command is too long.
    Command,
    /// It is a line of HTTP: a browser was made to send it.
    Http,
}

/// Reads the command at the front of `bytes`.
pub(crate) fn decode(bytes: &[u8]) -> Decoded<'_> {
    let read = match bytes.first() {
        None => return Decoded::Unfinished,
        Some(b'*') => array(bytes),
        Some(_) => line(bytes),
    };
    match read {
        Ok(Some((arguments, length))) if length <= MAX_COMMAND_BYTES => Decoded::Command(arguments, length),
        Ok(None) if bytes.len() < MAX_COMMAND_BYTES => Decoded::Unfinished,
        Ok(_) => Decoded::Wrong(Misspoken::Command),
        Err(wrong) => Decoded::Wrong(wrong),
    }
}

/// What was read, and where it ends. None: not all of it is there.
type Read<T> = Result<Option<(T, usize)>, Misspoken>;

fn array(bytes: &[u8]) -> Read<Arguments<'_>> {
    let Some((count, mut at)) = number(bytes, 1, Misspoken::Count)? else {
        return Ok(None);
    };
    let count = usize::try_from(count).unwrap_or(0);
    if count > MAX_ARGUMENTS {
        return Err(Misspoken::Count);
    }
    let mut arguments = Arguments::new();
    for _ in 0..count {
        let Some((argument, end)) = string(bytes, at)? else {
            return Ok(None);
        };
        arguments.push(argument);
        at = end;
    }
    Ok(Some((arguments, at)))
}

fn string(bytes: &[u8], at: usize) -> Read<&[u8]> {
    match bytes.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(other) => return Err(Misspoken::Type(*other)),
    }
    let Some((length, begin)) = number(bytes, at + 1, Misspoken::Length)? else {
        return Ok(None);
    };
    let length = usize::try_from(length).ok();
    let length = length
        .filter(|length| *length <= MAX_ARGUMENT_BYTES)
        .ok_or(Misspoken::Length)?;
    let end = begin + length;
    match bytes.get(end..end + 2) {
        None => Ok(None),
        Some(b"\r\n") => Ok(bytes.get(begin..end).map(|argument| (argument, end + 2))),
        Some(_) => Err(Misspoken::Length),
    }
}

/// The number that stands at `at` and ends with its line.
fn number(bytes: &[u8], at: usize, wrong: Misspoken) -> Read<i64> {
    let rest = bytes.get(at..).unwrap_or_default();
    let (is_negative, signs) = match rest.first() {
        Some(b'-') => (true, 1),
        _ => (false, 0),
    };
    let mut value: i64 = 0;
    for (index, byte) in rest.iter().enumerate().skip(signs) {
        match byte {
            b'0'..=b'9' if index < MAX_DIGITS => {
                let digit = i64::from(byte - b'0');
                value = value.saturating_mul(10).saturating_add(digit);
            }
            b'\r' if index > signs => {
                return match rest.get(index + 1) {
                    None => Ok(None),
                    Some(b'\n') => Ok(Some((if is_negative { -value } else { value }, at + index + 2))),
                    Some(_) => Err(wrong),
                };
            }
            _ => return Err(wrong),
        }
    }
    Ok(None)
}

/// A command as a line, which people type: words between blanks.
fn line(bytes: &[u8]) -> Read<Arguments<'_>> {
    let within = bytes.get(..MAX_COMMAND_BYTES).unwrap_or(bytes);
    let Some(end) = within.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let words = bytes.get(..end).unwrap_or_default();
    let mut arguments = Arguments::new();
    for word in words
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
    {
        if arguments.len() == MAX_ARGUMENTS {
            return Err(Misspoken::Count);
        }
        arguments.push(word);
    }
    let is_http = |name: &[u8]| name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:");
    if arguments.first().is_some_and(|name| is_http(name)) {
        return Err(Misspoken::Http);
    }
    Ok(Some((arguments, end + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(bytes: &[u8]) -> (Vec<&[u8]>, usize) {
        match decode(bytes) {
            Decoded::Command(arguments, length) => (arguments.to_vec(), length),
            other => panic!("{other:?}"),
        }
    }

    fn string(length: usize) -> Vec<u8> {
        let mut bytes = format!("*1\r\n${length}\r\n").into_bytes();
        bytes.resize(bytes.len() + length, b'a');
        bytes.extend(b"\r\n");
        bytes
    }

    #[test]
    fn commands_are_read_one_after_the_other() {
        let bytes = b"*2\r\n$4\r\nECHO\r\n$2\r\n\r\n\r\n*1\r\n$4\r\nPING\r\n";
        let (arguments, length) = command(bytes);
        assert_eq!((arguments, length), (vec![&b"ECHO"[..], b"\r\n"], 22));
        assert_eq!(command(&bytes[length..]), (vec![&b"PING"[..]], 14));
    }

    #[test]
    fn a_command_is_waited_for_until_its_last_byte() {
        let bytes = b"*3\r\n$2\r\nab\r\n$0\r\n\r\n$10\r\n0123456789\r\n";
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Decoded::Unfinished, "{end}");
        }
        assert_eq!(command(bytes).0, [&b"ab"[..], b"", b"0123456789"]);
    }

    #[test]
    fn people_type_commands_as_lines() {
        assert_eq!(command(b"  ping\t hello \r\nx").0, [&b"ping"[..], b"hello"]);
        assert_eq!(command(b"\r\n"), (vec![], 2));
        assert_eq!(command(b"*0\r\n"), (vec![], 4));
        assert_eq!(command(b"*-1\r\n"), (vec![], 5));
    }

    #[test]
    fn what_is_no_command_is_called_so() {
        for (bytes, wrong) in [
            (&b"*x\r\n"[..], Misspoken::Count),
            (b"*\r\n", Misspoken::Count),
            (b"*-\r\n", Misspoken::Count),
            (b"*1\n", Misspoken::Count),
            (b"*1\rx", Misspoken::Count),
            (b"*99999999999999999999999\r\n", Misspoken::Count),
            (b"*1\r\n:1\r\n", Misspoken::Type(b':')),
            (b"*1\r\n*1\r\n", Misspoken::Type(b'*')),
            (b"*1\r\n$-1\r\n", Misspoken::Length),
            (b"*1\r\n$2\r\nabc\r\n", Misspoken::Length),
            (b"POST / HTTP/1.1\r\n", Misspoken::Http),
            (b"Host: a.test\r\n", Misspoken::Http),
        ] {
            assert_eq!(decode(bytes), Decoded::Wrong(wrong), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn the_longest_argument_is_read_and_a_longer_one_is_refused_before_it_comes() {
        assert_eq!(
            command(&string(MAX_ARGUMENT_BYTES)).0[0].len(),
            MAX_ARGUMENT_BYTES
        );
        let announced = format!("*1\r\n${}\r\n", MAX_ARGUMENT_BYTES + 1);
        assert_eq!(decode(announced.as_bytes()), Decoded::Wrong(Misspoken::Length));
    }

    #[test]
    fn as_many_arguments_are_read_as_are_allowed_and_no_more() {
        let full = format!("*{MAX_ARGUMENTS}\r\n{}", "$1\r\na\r\n".repeat(MAX_ARGUMENTS));
        assert_eq!(command(full.as_bytes()).0.len(), MAX_ARGUMENTS);
        let more = format!("*{}\r\n", MAX_ARGUMENTS + 1);
        assert_eq!(decode(more.as_bytes()), Decoded::Wrong(Misspoken::Count));
        let line = |count: usize| [[b'a', b' '].repeat(count), b"\n".to_vec()].concat();
        assert_eq!(command(&line(MAX_ARGUMENTS)).0.len(), MAX_ARGUMENTS);
        assert_eq!(decode(&line(MAX_ARGUMENTS + 1)), Decoded::Wrong(Misspoken::Count));
    }

    #[test]
    fn nothing_is_held_that_is_longer_than_a_command() {
        let line = |length: usize| vec![b'a'; length];
        assert_eq!(decode(&line(MAX_COMMAND_BYTES - 1)), Decoded::Unfinished);
        assert_eq!(
            decode(&line(MAX_COMMAND_BYTES)),
            Decoded::Wrong(Misspoken::Command)
        );
        let most = [line(MAX_COMMAND_BYTES - 1), b"\n".to_vec()].concat();
        assert_eq!(command(&most).1, MAX_COMMAND_BYTES);
        let argument = format!("$16000\r\n{}\r\n", "a".repeat(16_000));
        let five = format!("*5\r\n{}", argument.repeat(5));
        assert_eq!(decode(five.as_bytes()), Decoded::Wrong(Misspoken::Command));
    }
}
