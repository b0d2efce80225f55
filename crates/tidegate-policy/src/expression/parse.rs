//! The door to the `cel` crate: from a text to its syntax tree, within bounds.

use std::ops::Range;

use cel::parser::pratt_parser::{Lexer, TokenKind};
use cel::parser::{Expression as Tree, ParseErrors, PrattParser};

/// The longest expression, in bytes.
pub(crate) const MAX_SOURCE_BYTES: usize = 4096;

/// The most words and signs of an expression. Bounds the depth of its tree, whatever it is made of.
pub(crate) const MAX_TOKENS: usize = 512;

/// The deepest nesting of parentheses, brackets and calls.
pub(crate) const MAX_NESTING: u16 = 24;

/// Something wrong with an expression: where in its text, what, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// In bytes.
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
    pub(crate) cure: String,
}

impl Complaint {
    pub(super) fn new(at: Range<usize>, message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            cure: cure.into(),
        }
    }
}

/// The tree of `source`.
pub(super) fn parse(source: &str) -> Result<Tree, Complaint> {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("an expression has at most {MAX_SOURCE_BYTES} bytes");
        return Err(Complaint::new(
            0..source.len(),
            message,
            "write a shorter one, or several policies",
        ));
    }
    bound_tokens(source)?;
    let parsed = parser().parse(source);
    parsed.map_err(|errors| first_complaint(source, errors))
}

/// The crate's parser without tables: it takes little stack and time for any text, and its depth is bounded.
fn parser() -> PrattParser {
    PrattParser::new()
        .max_recursion_depth(MAX_NESTING)
        .error_recovery_limit(1)
}

fn bound_tokens(source: &str) -> Result<(), Complaint> {
    let mut lexer = Lexer::new(source);
    let mut count = 0;
    loop {
        let token = lexer.lex();
        match token.kind {
            TokenKind::TokEnd | TokenKind::TokError => return Ok(()),
            TokenKind::TokWhitespace | TokenKind::TokComment => continue,
            _ => count += 1,
        }
        if count > MAX_TOKENS {
            let message = format!("an expression has at most {MAX_TOKENS} words and signs");
            let cure = "write a shorter one, or several policies";
            return Err(Complaint::new(token.start..token.end, message, cure));
        }
    }
}

fn first_complaint(source: &str, errors: ParseErrors) -> Complaint {
    let cure = "an expression looks like `request.method == \"POST\" && size(request.query) > 2`";
    let errors = errors.errors;
    if errors.iter().any(|error| error.msg.contains("recursion limit")) {
        let message = format!("this is nested more than {MAX_NESTING} levels deep");
        return Complaint::new(0..source.len(), message, "write it with fewer parentheses");
    }
    // What stands in no line is about the parser itself.
    let error = errors
        .into_iter()
        .filter(|error| error.pos.0 > 0)
        .min_by_key(|error| error.pos);
    let Some(error) = error else {
        return Complaint::new(0..source.len(), "this is no expression", cure);
    };
    let start = offset(source, error.pos);
    let message = error.msg.trim_start_matches("Syntax error: ").to_owned();
    let message = message.replace("<EOF>", "the end");
    let message = if message.is_empty() {
        "a parenthesis is not closed".to_owned()
    } else {
        message
    };
    let found = source[start..].chars().next();
    let end = start + found.map_or(0, char::len_utf8);
    let cure = match found {
        Some('=') => "two values are compared with `==`",
        _ => cure,
    };
    Complaint::new(start..end, format!("this is no expression: {message}"), cure)
}

/// The byte that a line and a column (in bytes), both from 1, stand for.
fn offset(source: &str, (line, column): (isize, isize)) -> usize {
    let before = usize::try_from(line - 1).unwrap_or(0);
    let start: usize = source.split_inclusive('\n').take(before).map(str::len).sum();
    let column = usize::try_from(column - 1).unwrap_or(0);
    floor_boundary(source, start.saturating_add(column))
}

fn floor_boundary(source: &str, at: usize) -> usize {
    let at = at.min(source.len());
    (0..=at)
        .rev()
        .find(|at| source.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Where the nodes of a tree stand in its text.
pub(super) struct Places<'s> {
    source: &'s str,
    errors: Option<ParseErrors>,
}

impl<'s> Places<'s> {
    /// The parser tells the places of nodes only beside an error, so it gets the text once more with an error at its end:
    /// up to there it numbers the nodes alike.
    pub(super) fn of(source: &'s str) -> Self {
        let errors = parser().parse(&format!("{source}\n)")).err();
        Self { source, errors }
    }

    /// Where node number `id` stands: the word that says what it is.
    pub(super) fn of_node(&self, id: u64) -> Range<usize> {
        let errors = self.errors.iter().flat_map(|errors| &errors.errors);
        let known = errors
            .filter_map(|error| error.source_info.as_ref()?.offset_for(id))
            .next();
        let Some((start, _)) = known else {
            return 0..self.source.len();
        };
        self.word_at(floor_boundary(self.source, start as usize))
    }

    /// The word that begins at `start`; after a dot the word behind it, before a parenthesis the one before it.
    fn word_at(&self, start: usize) -> Range<usize> {
        let bytes = self.source.as_bytes();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let word = |start: usize| {
            let length = bytes[start..].iter().take_while(|byte| is_word(byte)).count();
            start..start + length
        };
        match bytes.get(start) {
            Some(b'.') => {
                let blanks = bytes[start + 1..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace());
                word(start + 1 + blanks.count())
            }
            Some(b'(') => {
                let length = bytes[..start]
                    .iter()
                    .rev()
                    .take_while(|byte| is_word(byte))
                    .count();
                start - length..start
            }
            Some(byte) if is_word(byte) => word(start),
            Some(quote @ (b'"' | b'\'')) => {
                let inside = bytes[start + 1..].iter().take_while(|byte| *byte != quote);
                start..floor_boundary(self.source, start + inside.count() + 2)
            }
            Some(b'=' | b'!' | b'<' | b'>' | b'&' | b'|') => {
                let sign = bytes[start..].iter().take_while(|byte| b"=!<>&|".contains(byte));
                start..start + sign.count()
            }
            _ => {
                let char = self.source[start..].chars().next();
                start..start + char.map_or(0, char::len_utf8)
            }
        }
    }
}
