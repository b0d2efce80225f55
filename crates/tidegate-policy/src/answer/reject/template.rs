//! A text with holes: `{{retry_after}}`.

/// The most bytes of a text.
pub(crate) const MAX_BYTES: usize = 16 * 1024;

/// The most holes of a text: each may take more bytes than it is written with.
pub(crate) const MAX_HOLES: usize = 64;

/// A text with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    Hole(Hole),
}

/// What a hole is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hole {
    Policy,
    Limit,
    Remaining,
    Reset,
    RetryAfter,
    Status,
}

/// Names of holes.
pub(crate) const HOLES: [(&str, Hole); 6] = [
    ("policy", Hole::Policy),
    ("limit", Hole::Limit),
    ("remaining", Hole::Remaining),
    ("reset", Hole::Reset),
    ("retry_after", Hole::RetryAfter),
    ("status", Hole::Status),
];

/// Why a text is no [`Template`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault<'t> {
    /// `{{` without `}}`.
    Open,
    /// Nothing is called so.
    Unknown(&'t str),
    TooLong,
    TooManyHoles,
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, Fault<'_>> {
        if text.len() > MAX_BYTES {
            return Err(Fault::TooLong);
        }
        let mut pieces = Vec::new();
        let mut holes = 0;
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or(Fault::Open)?;
            let name = name.trim();
            let known = HOLES.iter().find(|(own, _)| *own == name);
            let (_, hole) = known.ok_or(Fault::Unknown(name))?;
            holes += 1;
            if holes > MAX_HOLES {
                return Err(Fault::TooManyHoles);
            }
            pieces.push(Piece::Text(before.into()));
            pieces.push(Piece::Hole(*hole));
            rest = after;
        }
        pieces.push(Piece::Text(rest.into()));
        Ok(Self(pieces))
    }

    /// The text, each hole filled with what `value` says.
    pub(crate) fn fill(&self, value: impl Fn(Hole) -> String) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Hole(hole) => out.push_str(&value(*hole)),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_and_braces_alone_are_text() {
        let template = Template::parse("{ {{ policy }}: {{status}}{{status}} }").unwrap();
        assert_eq!(
            template.fill(|hole| format!("<{hole:?}>")),
            "{ <Policy>: <Status><Status> }"
        );
        assert_eq!(Template::parse("a {{policy"), Err(Fault::Open));
        assert_eq!(Template::parse("{{ polcy }}"), Err(Fault::Unknown("polcy")));
    }

    #[test]
    fn texts_and_their_holes_are_bounded() {
        assert!(Template::parse(&"a".repeat(MAX_BYTES)).is_ok());
        assert_eq!(Template::parse(&"a".repeat(MAX_BYTES + 1)), Err(Fault::TooLong));
        assert!(Template::parse(&"{{limit}}".repeat(MAX_HOLES)).is_ok());
        assert_eq!(
            Template::parse(&"{{limit}}".repeat(MAX_HOLES + 1)),
            Err(Fault::TooManyHoles)
        );
    }
}
