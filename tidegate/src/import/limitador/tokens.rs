//! What expressions are made of, as far as `limit` and macros have to be found in them.

use std::ops::Range;

use super::expression::Names;

/// What a limit without a name is called: as Limitador does where it counts by it. It is null there, which no text equals here either.
const NOBODY: &str = "null";

/// `expression` with what `limit.id` and `limit.name` are called in their place.
pub(super) fn with_names(expression: &str, names: Names<'_>) -> String {
    let expression = expression.trim();
    let tokens = tokens(expression);
    let word = |index: usize| {
        tokens
            .get(index)
            .map_or("", |token: &Range<usize>| &expression[token.clone()])
    };
    let mut told = String::new();
    let mut copied = 0;
    for index in 0..tokens.len() {
        let is_member = index > 0 && word(index - 1) == ".";
        if word(index) != "limit" || is_member {
            continue;
        }
        let (field, last) = match word(index + 1) {
            "." => (word(index + 2), index + 2),
            "[" if word(index + 3) == "]" => (word(index + 2).trim_matches(['\'', '"']), index + 3),
            _ => continue,
        };
        let name = match field {
            "id" => names.id,
            "name" => names.name,
            _ => continue,
        };
        told.push_str(&expression[copied..tokens[index].start]);
        told.push_str(&literal(name.unwrap_or(NOBODY)));
        copied = tokens[last].end;
    }
    told.push_str(&expression[copied..]);
    told
}

/// The first macro in `expression` that gives a name to what it goes through.
pub(super) fn macro_in(expression: &str) -> Option<&str> {
    const MACROS: [&str; 5] = ["all", "exists", "exists_one", "filter", "map"];
    let tokens = tokens(expression);
    let word = |token: &Range<usize>| &expression[token.clone()];
    let mut threes = tokens.windows(3);
    let call = threes.find(|three| {
        word(&three[0]) == "." && MACROS.contains(&word(&three[1])) && word(&three[2]) == "("
    })?;
    Some(word(&call[1]))
}

/// Whether `expression` says `||`.
pub(super) fn has_or(expression: &str) -> bool {
    let tokens = tokens(expression);
    let is_or = |two: &[Range<usize>]| &expression[two[0].start..two[1].end] == "||";
    tokens.windows(2).any(is_or)
}

/// `text` as an expression writes it.
pub(super) fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => literal.extend(['\\', char]),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            char => literal.push(char),
        }
    }
    literal.push('"');
    literal
}

/// Where names, texts with their quotes, and other characters stand. White space and comments are none of them.
fn tokens(expression: &str) -> Vec<Range<usize>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(char) = expression[at..].chars().next() {
        let rest = &expression[at..];
        let (is_token, length) = if char.is_whitespace() {
            (false, char.len_utf8())
        } else if rest.starts_with("//") {
            (false, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(length) = text_length(rest) {
            (true, length)
        } else if is_of_name(char) {
            (true, rest.find(|char| !is_of_name(char)).unwrap_or(rest.len()))
        } else {
            (true, char.len_utf8())
        };
        if is_token {
            tokens.push(at..at + length);
        }
        at += length;
    }
    tokens
}

fn is_of_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// How long the text is that `rest` begins with, if it begins with one.
fn text_length(rest: &str) -> Option<usize> {
    let prefix = rest.bytes().take_while(|byte| b"rRbB".contains(byte)).count();
    let is_raw = rest[..prefix].contains(['r', 'R']);
    let quotes = [r#"""""#, "'''", "\"", "'"];
    let quote = quotes
        .into_iter()
        .find(|quote| rest[prefix..].starts_with(quote))?;
    let mut at = prefix + quote.len();
    while let Some(char) = rest[at..].chars().next() {
        if rest[at..].starts_with(quote) {
            return Some(at + quote.len());
        }
        at += char.len_utf8();
        if char == '\\' && !is_raw {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    Some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'_> = Names {
        id: Some("7"),
        name: Some("a \"b\""),
    };

    #[test]
    fn the_names_of_a_limit_are_told_in_its_expressions() {
        for (expression, told) in [
            ("limit.id == '7'", r#""7" == '7'"#),
            ("'x' == limit . name", r#"'x' == "a \"b\"""#),
            (r#"limit['id'] + limit["name"]"#, r#""7" + "a \"b\"""#),
            ("limit.max + limit", "limit.max + limit"),
        ] {
            assert_eq!(with_names(expression, NAMES), told);
        }
    }

    #[test]
    fn texts_comments_and_fields_that_look_like_them_stay() {
        for expression in [
            "descriptors[0].limit.id",
            "'limit.id' + '''it's limit.id''' + \"limit.id\"",
            r"r'limit.id\' + '\'limit.id' + my_limit.id",
            "true // limit.id",
            "'limit.id",
        ] {
            assert_eq!(with_names(expression, NAMES), expression);
        }
    }

    #[test]
    fn a_limit_without_a_name_is_called_as_limitador_counts_it() {
        let nobody = Names { id: None, name: None };
        assert_eq!(with_names("limit.name != ''", nobody), "\"null\" != ''");
    }

    #[test]
    fn an_or_is_found_and_a_text_that_looks_like_it_is_not() {
        assert!(has_or("a == 'x'||b == 'y'"));
        assert!(!has_or("a == '||' && b == \"||\" // ||"));
    }

    #[test]
    fn macros_are_found_and_texts_that_look_like_them_are_not() {
        assert_eq!(macro_in("descriptors.exists(d, d.x == '1')"), Some("exists"));
        assert_eq!(macro_in("descriptors[0].all == '.map(x'"), None);
    }
}
