//! Path patterns.

/// The most segments of a pattern.
pub(crate) const MAX_SEGMENTS: usize = 32;

/// The longest pattern, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 1024;

/// A pattern of paths: `/users/{id}/posts`, `/static/*`, `/api/**`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    pub(crate) segments: Vec<Segment>,
    /// It ends in `**`: whatever follows, also nothing.
    pub(crate) open_ended: bool,
}

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// This, decoded, in small letters: the case of a segment makes no difference.
    Literal(String),
    /// Any one segment that is not empty, with a name if it was written as `{name}`.
    Any(Option<String>),
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternFault {
    NoSlash,
    TooLong,
    Query,
    Encoded,
    DotOrEmptySegment,
    RestNotLast,
    PartOfSegment,
    BadName,
    NameTwice,
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternFault> {
        let rest = text.strip_prefix('/').ok_or(PatternFault::NoSlash)?;
        if text.contains(['?', '#']) {
            return Err(PatternFault::Query);
        }
        if text.contains(['%', '\\', ';']) {
            return Err(PatternFault::Encoded);
        }
        if rest == "/" {
            return Err(PatternFault::DotOrEmptySegment);
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let mut pattern = Self {
            segments: Vec::new(),
            open_ended: false,
        };
        if rest.is_empty() {
            return Ok(pattern);
        }
        for segment in rest.split('/') {
            if pattern.open_ended {
                return Err(PatternFault::RestNotLast);
            }
            if segment == "**" {
                pattern.open_ended = true;
            } else {
                pattern.segments.push(Segment::parse(segment)?);
            }
        }
        if pattern.segments.len() > MAX_SEGMENTS || text.len() > MAX_PATTERN_BYTES {
            return Err(PatternFault::TooLong);
        }
        pattern.names_once()
    }

    /// Whether every path that `other` matches is matched by this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let (own, others) = (&self.segments, &other.segments);
        let long_enough = if self.open_ended {
            others.len() >= own.len()
        } else {
            others.len() == own.len() && !other.open_ended
        };
        long_enough
            && own.iter().zip(others).all(|(own, other)| match (own, other) {
                (Segment::Any(_), _) => true,
                (Segment::Literal(own), Segment::Literal(other)) => own == other,
                (Segment::Literal(_), Segment::Any(_)) => false,
            })
    }

    /// Which segment is called `name`.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        let is_it = |segment: &Segment| matches!(segment, Segment::Any(Some(own)) if own == name);
        self.segments.iter().position(is_it)
    }

    fn names_once(self) -> Result<Self, PatternFault> {
        for (index, segment) in self.segments.iter().enumerate() {
            if let Segment::Any(Some(name)) = segment
                && self.named(name) != Some(index)
            {
                return Err(PatternFault::NameTwice);
            }
        }
        Ok(self)
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, PatternFault> {
        if matches!(text, "" | "." | "..") {
            return Err(PatternFault::DotOrEmptySegment);
        }
        if text == "*" {
            return Ok(Self::Any(None));
        }
        if let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let is_name = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
            return if is_name {
                Ok(Self::Any(Some(name.to_owned())))
            } else {
                Err(PatternFault::BadName)
            };
        }
        if text.contains(['*', '{', '}']) {
            return Err(PatternFault::PartOfSegment);
        }
        Ok(Self::Literal(text.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_could_mislead_are_refused() {
        use PatternFault::*;
        for (text, fault) in [
            ("api", NoSlash),
            ("", NoSlash),
            ("/a?b=c", Query),
            ("/a%20b", Encoded),
            ("/a//b", DotOrEmptySegment),
            ("//", DotOrEmptySegment),
            ("/a//", DotOrEmptySegment),
            ("/a/../b", DotOrEmptySegment),
            ("/**/a", RestNotLast),
            ("/a*", PartOfSegment),
            ("/{id}x", PartOfSegment),
            ("/{}", BadName),
            ("/{a}/{a}", NameTwice),
        ] {
            assert_eq!(PathPattern::parse(text), Err(fault), "{text}");
        }
        let segments = |count| "/a".repeat(count);
        assert!(PathPattern::parse(&segments(MAX_SEGMENTS)).is_ok());
        assert_eq!(PathPattern::parse(&segments(MAX_SEGMENTS + 1)), Err(TooLong));
    }
}
