//! The ways in which an origin may read a path.

use std::borrow::Cow;

use percent_encoding::percent_decode;
use smallvec::SmallVec;

/// The most separators of a path that can be read in several ways. Each reading costs, and nobody needs more.
pub(crate) const MAX_SEPARATORS: usize = 128;

/// The segments of a path, read in one way.
pub(crate) type Segments<'p> = SmallVec<[Cow<'p, [u8]>; 16]>;

/// The readings of a path.
pub(crate) type Views<'p> = SmallVec<[Segments<'p>; 1]>;

/// Every way in which an origin may read `path`, the likeliest first. None if it can be read in too many.
///
/// Most paths can be read in one way only, and then there is one view and nothing is allocated. Where a path holds `%`,
/// `\`, `;`, `//` or dot segments, origins differ: they decode or not, take `%2F` for a separator or not, cut `;…` off or
/// not, resolve `..` or not, before or after they take `//` for `/`. A policy that matches one of the ways counts the
/// request, so that no spelling of a path dodges its policy. A final slash changes nothing in any view.
pub(crate) fn views(path: &str) -> Option<Views<'_>> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut views = Views::new();
    if path.is_empty() {
        views.push(Segments::new());
        return Some(views);
    }
    let as_sent: Segments<'_> = path
        .as_bytes()
        .split(|byte| *byte == b'/')
        .map(Cow::Borrowed)
        .collect();
    if is_plain(&as_sent) {
        views.push(as_sent);
        return Some(views);
    }
    if separators(path.as_bytes()) > MAX_SEPARATORS {
        return None;
    }
    let parameters: &[_] = if path.contains(';') {
        &[Parameters::Cut, Parameters::Kept]
    } else {
        &[Parameters::Kept]
    };
    for parameters in parameters {
        for text in [Text::Decoded, Text::DecodedWithSlashes, Text::AsSent] {
            let pieces = pieces(path.as_bytes(), *parameters, text);
            for dots in ways_with_dots(&pieces) {
                let view = read(&pieces, *dots);
                if !views.contains(&view) {
                    views.push(view);
                }
            }
        }
    }
    Some(views)
}

/// What an origin takes `;…` at the end of a segment for.
#[derive(Clone, Copy)]
enum Parameters {
    Cut,
    Kept,
}

/// What an origin makes of `%` and `\`.
#[derive(Clone, Copy)]
enum Text {
    /// It decodes each segment.
    Decoded,
    /// It decodes first, and then splits at slashes of either kind.
    DecodedWithSlashes,
    AsSent,
}

/// What an origin does with `.` and `..`.
#[derive(Clone, Copy)]
enum Dots {
    /// `..` takes back the last segment.
    Resolved,
    /// The same, and an empty segment is one too (RFC 3986, section 5.2.4; the URLs of browsers and Node).
    ResolvedBeforeMerging,
    Kept,
}

fn is_plain(segments: &[Cow<'_, [u8]>]) -> bool {
    let is_plain = |segment: &Cow<'_, [u8]>| {
        !matches!(&**segment, b"" | b"." | b"..")
            && !segment.iter().any(|byte| matches!(byte, b'%' | b'\\' | b';'))
    };
    segments.iter().all(is_plain)
}

/// How many bytes of `path` may separate segments in some reading.
fn separators(path: &[u8]) -> usize {
    let encoded = path
        .windows(3)
        .filter(|bytes| bytes.eq_ignore_ascii_case(b"%2f") || bytes.eq_ignore_ascii_case(b"%5c"));
    let plain = path.iter().filter(|byte| matches!(byte, b'/' | b'\\'));
    encoded.count() + plain.count()
}

/// What origins do with the dots and the empty segments of `pieces`: nothing, where there are none.
fn ways_with_dots(pieces: &Segments<'_>) -> &'static [Dots] {
    let is_one = |piece: &Cow<'_, [u8]>| matches!(&**piece, b"" | b"." | b"..");
    if pieces.iter().any(is_one) {
        &[Dots::Resolved, Dots::ResolvedBeforeMerging, Dots::Kept]
    } else {
        &[Dots::Kept]
    }
}

/// The segments of `path`, empty ones and dots included.
fn pieces(path: &[u8], parameters: Parameters, text: Text) -> Segments<'_> {
    let mut pieces = Segments::new();
    for segment in path.split(|byte| *byte == b'/') {
        let segment = match parameters {
            Parameters::Cut => segment.split(|byte| *byte == b';').next().unwrap_or_default(),
            Parameters::Kept => segment,
        };
        match text {
            Text::AsSent => pieces.push(Cow::Borrowed(segment)),
            Text::Decoded => pieces.push(percent_decode(segment).into()),
            Text::DecodedWithSlashes => {
                let decoded: Cow<'_, [u8]> = percent_decode(segment).into();
                let split = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
                pieces.extend(split.map(|piece| Cow::Owned(piece.to_vec())));
            }
        }
    }
    pieces
}

/// What is left of `pieces` without empty segments, and without dots if they are resolved.
fn read<'p>(pieces: &Segments<'p>, dots: Dots) -> Segments<'p> {
    let mut view = Segments::new();
    for piece in pieces {
        match (&**piece, dots) {
            (b"", Dots::Resolved | Dots::Kept) => {}
            (b".", Dots::Resolved | Dots::ResolvedBeforeMerging) => {}
            (b"..", Dots::Resolved | Dots::ResolvedBeforeMerging) => {
                view.pop();
            }
            _ => view.push(piece.clone()),
        }
    }
    view.retain(|segment| !segment.is_empty());
    view
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
        views(path).unwrap().iter().map(join).collect()
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
    fn an_origin_that_takes_two_slashes_for_an_empty_segment_is_thought_of_too() {
        for path in [
            "/login//..",
            "/login/x//../..",
            "/login/%2e%2e//../login",
            "/login/;a/..",
        ] {
            let readings = readings(path);
            assert!(readings.contains(&"/login".to_owned()), "{path}: {readings:?}");
        }
    }

    #[test]
    fn an_origin_that_knows_no_parameters_is_thought_of_too() {
        assert!(readings("/x/../files/..;a/b").contains(&"/files/..;a/b".to_owned()));
        assert!(readings("/files/%61;b").contains(&"/files/a;b".to_owned()));
    }

    #[test]
    fn a_path_with_too_many_ways_to_split_it_is_not_read() {
        for separator in ["/", "\\", "%2f", "%2F", "%5C"] {
            let path = |count: usize| format!("/%61{}", format!("{separator}a").repeat(count));
            assert!(views(&path(MAX_SEPARATORS)).is_some(), "{separator}");
            assert!(views(&path(MAX_SEPARATORS + 1)).is_none(), "{separator}");
        }
        assert_eq!(views(&"/a".repeat(1000)).unwrap().len(), 1);
    }

    #[test]
    fn an_origin_that_decodes_nothing_is_thought_of_too() {
        assert!(readings("/a%2Fb").contains(&"/a%2Fb".to_owned()));
        assert!(readings("/%78/../login").contains(&"/x/../login".to_owned()));
    }
}
