//! The place of a part of a scalar: scalars are kept as the text they stand for, and errors show what was written.

use std::ops::Range;

use super::node::Place;

/// Where `part` (in bytes) of the scalar `value` stands, which begins at `at` of `lines`. The whole scalar, if that cannot be
/// told: then it was folded, or came by an alias.
pub(super) fn place(lines: &[&str], at: Place, value: &str, part: Range<usize>) -> Place {
    one_line(lines, at, value, &part)
        .or_else(|| block(lines, at, value, &part))
        .unwrap_or(at)
}

/// In a plain or quoted scalar that begins and ends in one line.
fn one_line(lines: &[&str], at: Place, value: &str, part: &Range<usize>) -> Option<Place> {
    let line = lines.get(at.line - 1)?;
    let mut written = line.chars().skip(at.column - 1);
    let quote = match written.clone().next() {
        Some(quote @ ('"' | '\'')) => {
            written.next();
            Some(quote)
        }
        _ => None,
    };
    let mut column = at.column + usize::from(quote.is_some());
    let mut start = column;
    for (place, char) in value.char_indices().take_while(|(place, _)| *place < part.end) {
        if place <= part.start {
            start = column;
        }
        column += written_length(&mut written, char, quote)?;
    }
    // A part at the very end has no character of its own.
    if part.start >= value.len() {
        start = column;
    }
    Some(Place {
        line: at.line,
        column: start,
        width: (column - start).max(1),
    })
}

/// How many characters stand for `char`. None if others do, which happens to escapes that expressions do not need.
fn written_length(
    written: &mut impl Iterator<Item = char>,
    char: char,
    quote: Option<char>,
) -> Option<usize> {
    let first = written.next()?;
    let is_escaped = match quote {
        Some('"') => first == '\\',
        Some(quote) => first == quote,
        None => false,
    };
    let meant = if is_escaped { written.next()? } else { first };
    (meant == char).then_some(1 + usize::from(is_escaped))
}

/// In a scalar of several lines, which stand one below the other as they are (`|`).
fn block(lines: &[&str], at: Place, value: &str, part: &Range<usize>) -> Option<Place> {
    let before = value.get(..part.start)?;
    let own_line = before.matches('\n').count();
    let own_start = before.rfind('\n').map_or(0, |place| place + 1);
    let text = value[own_start..].lines().next().unwrap_or_default();
    let written = lines.get(at.line - 1 + own_line)?;
    let indent = written.strip_suffix(text)?.chars().count();
    let length = value.get(part.clone())?.lines().next().unwrap_or_default();
    Some(Place {
        line: at.line + own_line,
        column: indent + value[own_start..part.start].chars().count() + 1,
        width: length.chars().count().max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line and what is underlined, of `part` of the scalar `value` that begins at a line and column.
    fn found(text: &str, (line, column): (usize, usize), value: &str, part: &str) -> (usize, String) {
        let lines: Vec<&str> = text.lines().collect();
        let at = Place {
            line,
            column,
            width: 1,
        };
        let start = value.find(part).unwrap();
        let place = place(&lines, at, value, start..start + part.len());
        let line = lines[place.line - 1].chars().skip(place.column - 1);
        (place.line, line.take(place.width).collect())
    }

    #[test]
    fn a_part_is_found_however_the_scalar_is_written() {
        for (text, column, value) in [
            ("when: a == bad", 7, "a == bad"),
            ("when: 'a == bad'", 7, "a == bad"),
            ("when: '''x'' == bad'", 7, "'x' == bad"),
            ("when: \"\\\"x\\\" == bad\"", 7, "\"x\" == bad"),
            ("wen: 'é == bad'", 6, "é == bad"),
        ] {
            assert_eq!(
                found(text, (1, column), value, "bad"),
                (1, "bad".to_owned()),
                "{text}"
            );
        }
        let block = "when: |\n  a ==\n    bad\n";
        assert_eq!(
            found(block, (2, 3), "a ==\n  bad\n", "bad"),
            (3, "bad".to_owned())
        );
    }

    #[test]
    fn a_scalar_that_is_written_otherwise_is_shown_where_it_begins() {
        assert_eq!(
            found("when: >\n  a ==\n  bad", (2, 3), "a == bad", "bad"),
            (2, "a".to_owned())
        );
        assert_eq!(
            found("when: \"\\x61 == bad\"", (1, 7), "a == bad", "bad"),
            (1, "\"".to_owned())
        );
    }
}
