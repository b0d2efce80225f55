//! Path patterns, and the ways in which an origin may read a path.

use std::borrow::Cow;

use percent_encoding::percent_decode;
use smallvec::SmallVec;

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
    /// Exactly this, decoded.
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
        Ok(Self::Literal(text.to_owned()))
    }
}

/// The segments of a path, read in one way.
pub(crate) type Segments<'p> = SmallVec<[Cow<'p, [u8]>; 16]>;

/// Every way in which an origin may read `path`, the likeliest first.
///
/// Most paths can be read in one way only, and then there is one view and nothing is allocated. Where a path holds `%`,
/// `\`, `;`, `//` or dot segments, origins differ: they decode or not, take `%2F` for a separator or not, resolve `..` or
/// not. A policy that matches one of the ways counts the request, so that no spelling of a path dodges its policy. A final
/// slash changes nothing in any view.
pub(crate) fn views(path: &str) -> SmallVec<[Segments<'_>; 1]> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut views = SmallVec::new();
    if path.is_empty() {
        views.push(Segments::new());
        return views;
    }
    let as_sent: Segments<'_> = path
        .as_bytes()
        .split(|byte| *byte == b'/')
        .map(Cow::Borrowed)
        .collect();
    if is_plain(&as_sent) {
        views.push(as_sent);
        return views;
    }
    for dots in [Dots::Resolved, Dots::Kept] {
        for slashes in [Slashes::Data, Slashes::Separators] {
            let view = decoded(&as_sent, slashes, dots);
            if !views.contains(&view) {
                views.push(view);
            }
        }
    }
    if !views.contains(&as_sent) {
        views.push(as_sent);
    }
    views
}

/// What an encoded slash is to the origin.
#[derive(Clone, Copy)]
enum Slashes {
    Data,
    Separators,
}

/// What the origin does with `.` and `..`.
#[derive(Clone, Copy)]
enum Dots {
    Resolved,
    Kept,
}

fn is_plain(segments: &[Cow<'_, [u8]>]) -> bool {
    let is_plain = |segment: &Cow<'_, [u8]>| {
        !matches!(&**segment, b"" | b"." | b"..")
            && !segment.iter().any(|byte| matches!(byte, b'%' | b'\\' | b';'))
    };
    segments.iter().all(is_plain)
}

/// Decodes each segment once, cuts path parameters (`;…`) off, and leaves empty segments out.
fn decoded<'p>(segments: &[Cow<'p, [u8]>], slashes: Slashes, dots: Dots) -> Segments<'p> {
    let mut view = Segments::new();
    for segment in segments {
        let bare = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        let text: Vec<u8> = percent_decode(bare).collect();
        match slashes {
            Slashes::Data => add(text, dots, &mut view),
            Slashes::Separators => {
                for piece in text.split(|byte| matches!(byte, b'/' | b'\\')) {
                    add(piece.to_vec(), dots, &mut view);
                }
            }
        }
    }
    view
}

fn add(segment: Vec<u8>, dots: Dots, view: &mut Segments<'_>) {
    match (&*segment, dots) {
        (b"", _) | (b".", Dots::Resolved) => {}
        (b"..", Dots::Resolved) => {
            view.pop();
        }
        _ => view.push(Cow::Owned(segment)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(path: &str) -> Vec<String> {
        let join = |view: &Segments<'_>| {
            let segments: Vec<_> = view
                .iter()
                .map(|segment| String::from_utf8_lossy(segment))
                .collect();
            format!("/{}", segments.join("/"))
        };
        views(path).iter().map(join).collect()
    }

    #[test]
    fn a_plain_path_is_read_in_one_way() {
        for path in ["/", "/a", "/a/b.c", "/.well-known/x", "/a...b"] {
            assert_eq!(readings(path), [path], "{path}");
        }
        assert_eq!(readings("/login/"), ["/login"]);
    }

    #[test]
    fn a_disguised_path_is_also_read_as_what_it_disguises() {
        for path in [
            "/%6cogin",
            "/%6C%6fgin",
            "//login",
            "/./login",
            "/x/../login",
            "/x/%2e%2e/login",
            "/x%2f..%2flogin",
            "/x%2Fy/../login",
            "/login;session=1",
            "/login//",
            "/..%5clogin",
            "/../../login",
            "/login/.",
        ] {
            assert!(
                readings(path).contains(&"/login".to_owned()),
                "{path}: {:?}",
                readings(path)
            );
        }
    }

    #[test]
    fn an_origin_that_decodes_nothing_is_thought_of_too() {
        assert!(readings("/a%2Fb").contains(&"/a%2Fb".to_owned()));
        assert!(readings("/%78/../login").contains(&"/x/../login".to_owned()));
    }

    #[test]
    fn patterns_that_could_mislead_are_refused() {
        use PatternFault::*;
        for (text, fault) in [
            ("api", NoSlash),
            ("", NoSlash),
            ("/a?b=c", Query),
            ("/a%20b", Encoded),
            ("/a//b", DotOrEmptySegment),
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
