//! The operations of a GraphQL document (specification of September 2025, section 2.4), and nothing else of it.
//!
//! A scan, not a parser: the parsers that exist build the whole tree and recurse with it. It sees the same operations as a parser
//! in every document that is right; what is wrong, the origin refuses.

use std::str::CharIndices;

/// An operation of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation<'d> {
    /// None for one without a name.
    pub(crate) name: Option<&'d str>,
    pub(crate) kind: OperationType,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationType {
    Query,
    Mutation,
    Subscription,
}

impl OperationType {
    /// Its word in documents.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Mutation => "mutation",
            Self::Subscription => "subscription",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Query, Self::Mutation, Self::Subscription]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// The most operations of a document.
pub(crate) const MAX_OPERATIONS: usize = 100;

/// The operations of `document`. None if it has none, too many, or something else between its definitions.
pub(crate) fn operations(document: &str) -> Option<Vec<Operation<'_>>> {
    let mut tokens = Tokens::new(document);
    let mut operations = Vec::new();
    while let Some(token) = tokens.next()? {
        match token {
            Token::Open('{') => {
                operations.push(Operation {
                    name: None,
                    kind: OperationType::Query,
                });
                tokens.close()?;
            }
            Token::Name("fragment") => _ = tokens.definition()?,
            Token::Name(word) => {
                let kind = OperationType::of(word)?;
                let name = tokens.definition()?;
                operations.push(Operation { name, kind });
            }
            // A description, which the specification allows since 2025.
            Token::Text => {}
            Token::Open(_) | Token::Close | Token::Other => return None,
        }
        if operations.len() > MAX_OPERATIONS {
            return None;
        }
    }
    (!operations.is_empty()).then_some(operations)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'d> {
    Name(&'d str),
    Open(char),
    Close,
    Text,
    /// Punctuation.
    Other,
}

/// The tokens of a document, without what is ignored.
struct Tokens<'d> {
    text: &'d str,
    chars: std::iter::Peekable<CharIndices<'d>>,
}

impl<'d> Tokens<'d> {
    fn new(text: &'d str) -> Self {
        Self {
            text,
            chars: text.char_indices().peekable(),
        }
    }

    /// The next token, or that there are no more. None: a string that does not end.
    #[expect(clippy::option_option, reason = "the outer one is for `?`")]
    fn next(&mut self) -> Option<Option<Token<'d>>> {
        while let Some((start, char)) = self.chars.next() {
            let token = match char {
                ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}' => continue,
                '#' => {
                    while self
                        .chars
                        .next_if(|(_, char)| !matches!(char, '\n' | '\r'))
                        .is_some()
                    {}
                    continue;
                }
                '"' => {
                    self.string(start)?;
                    Token::Text
                }
                '{' | '(' | '[' => Token::Open(char),
                '}' | ')' | ']' => Token::Close,
                char if is_of_name(char) => {
                    let mut end = start + 1;
                    while let Some((at, _)) = self.chars.next_if(|(_, char)| is_of_name(*char)) {
                        end = at + 1;
                    }
                    Token::Name(&self.text[start..end])
                }
                _ => Token::Other,
            };
            return Some(Some(token));
        }
        Some(None)
    }

    /// Skips the string that begins at `start`, whose first quote is behind.
    fn string(&mut self, start: usize) -> Option<()> {
        let rest = &self.text[start..];
        let length = match rest.strip_prefix("\"\"\"") {
            Some(block) => 6 + block_len(block)?,
            None => 2 + line_len(&rest[1..])?,
        };
        let end = start + length;
        while self.chars.next_if(|(at, _)| *at < end).is_some() {}
        Some(())
    }

    /// Skips up to and with the bracket that closes the one just opened.
    fn close(&mut self) -> Option<()> {
        let mut open = 1_usize;
        while open > 0 {
            match self.next()?? {
                Token::Open(_) => open += 1,
                Token::Close => open -= 1,
                Token::Name(_) | Token::Text | Token::Other => {}
            }
        }
        Some(())
    }

    /// Skips a definition whose first word is behind, up to and with its braces. The word after that, if it is one.
    #[expect(clippy::option_option, reason = "the outer one is for `?`")]
    fn definition(&mut self) -> Option<Option<&'d str>> {
        let mut token = self.next()??;
        let name = match token {
            Token::Name(name) => Some(name),
            _ => None,
        };
        loop {
            match token {
                Token::Open('{') => {
                    self.close()?;
                    return Some(name);
                }
                Token::Open(_) => self.close()?,
                Token::Close => return None,
                Token::Name(_) | Token::Text | Token::Other => {}
            }
            token = self.next()??;
        }
    }
}

fn is_of_name(char: char) -> bool {
    char == '_' || char.is_ascii_alphanumeric()
}

/// How long the inside of a block string is, which begins `block`.
fn block_len(block: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + block.get(from..)?.find("\"\"\"")?;
        if !block[..at].ends_with('\\') {
            return Some(at);
        }
        from = at + 3;
    }
}

/// How long the inside of a string is, which begins `line`.
fn line_len(line: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in line.char_indices() {
        match char {
            '\n' | '\r' => return None,
            '"' if !escaped => return Some(at),
            _ => escaped = char == '\\' && !escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(document: &str) -> Option<Vec<(&str, &'static str)>> {
        let operations = operations(document)?;
        let named = operations
            .into_iter()
            .map(|operation| (operation.name.unwrap_or_default(), operation.kind.word()));
        Some(named.collect())
    }

    #[test]
    fn operations_are_found_with_their_names() {
        for (document, expected) in [
            ("{ a }", vec![("", "query")]),
            ("query { a }", vec![("", "query")]),
            (
                "mutation Login($u: String = \"}\") @a(b: {c: [1]}) { login(u: $u) { id } }",
                vec![("Login", "mutation")],
            ),
            (
                "fragment F on User { id } query A { a { ...F } } subscription B { b }",
                vec![("A", "query"), ("B", "subscription")],
            ),
            ("query query { query }", vec![("query", "query")]),
            ("\u{feff},,query # query X {\r A{a}", vec![("A", "query")]),
            (
                "query($a: A = {b: \"\"\"}\\\"\"\" \"x\" \"\"\"}) { a }",
                vec![("", "query")],
            ),
            (
                "{ a(b: \"\\\"}\") } mutation M { m }",
                vec![("", "query"), ("M", "mutation")],
            ),
            (
                "\"\"\"about\"\"\" query Q { a } \"more\" query R { b }",
                vec![("Q", "query"), ("R", "query")],
            ),
            (
                "{ a(b: \"\") } query Q { a(b: \"é\") }",
                vec![("", "query"), ("Q", "query")],
            ),
        ] {
            assert_eq!(seen(document), Some(expected), "{document}");
        }
    }

    #[test]
    fn what_is_no_document_has_no_operations() {
        for document in [
            "",
            "fragment F on User { id }",
            "type Query { a: Int }",
            "query A",
            "query A { a",
            "query A { a }}",
            "query A { a(b: \"x) }",
            "query A { a(b: \"\"\"x\") }",
            "a",
        ] {
            assert_eq!(seen(document), None, "{document}");
        }
    }

    #[test]
    fn operations_are_bounded_and_depth_costs_no_stack() {
        assert_eq!(
            seen(&"{a}".repeat(MAX_OPERATIONS)).map(|seen| seen.len()),
            Some(MAX_OPERATIONS)
        );
        assert_eq!(seen(&"{a}".repeat(MAX_OPERATIONS + 1)), None);
        let deep = format!("query Deep {}{}", "{".repeat(100_000), "}".repeat(100_000));
        assert_eq!(seen(&deep), Some(vec![("Deep", "query")]));
    }
}
