//! Which requests are understood: one meaning for target, host and body length, or none.
//!
//! hyper has parsed the head already. It refuses bad names and values, folded lines, white space before a colon, differing or
//! malformed `Content-Length`, `Transfer-Encoding` that does not end in `chunked` or comes with HTTP/1.0; where both lengths are
//! given it drops `Content-Length` and closes after the response (RFC 9112 section 6.3). The rest is decided here.

use http::header::{CONTENT_LENGTH, EXPECT, HOST, TRANSFER_ENCODING};
use http::uri::{self, Authority, Uri};
use http::{HeaderMap, HeaderValue, Method, Request, Version};

use super::fault::Fault;
use super::settings::Bounds;

/// Checks the head and brings it into the one form that goes on: an origin-form target (or `*`) and one `Host`.
/// `default_host` stands in for HTTP/1.0 clients that name none.
pub(crate) fn normalize<B>(
    request: &mut Request<B>,
    bounds: &Bounds,
    default_host: &Authority,
) -> Result<(), Fault> {
    if request.method() == Method::CONNECT {
        return Err(Fault::Connect);
    }
    if request.headers().len() > bounds.header_fields {
        return Err(Fault::TooManyFields);
    }
    if request.version() == Version::HTTP_2 && request.headers().values().any(is_padded) {
        return Err(Fault::Padded);
    }
    transfer_encoding(request.headers())?;
    expectation(request.headers())?;
    let absolute = target(request, bounds)?;
    host(request, absolute, default_host)?;
    if absolute {
        to_origin_form(request.uri_mut())?;
    }
    Ok(())
}

/// Whether `value` begins or ends with white space (RFC 9113 section 8.2.1). HTTP/1.1 takes that off, and h2 leaves it on: to a policy two
/// such values would be two keys, and to the origin one.
fn is_padded(value: &HeaderValue) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let value = value.as_bytes();
    is_blank(value.first()) || is_blank(value.last())
}

fn transfer_encoding(headers: &HeaderMap) -> Result<(), Fault> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(());
    };
    if codings.next().is_some() || headers.contains_key(CONTENT_LENGTH) {
        return Err(Fault::Framing);
    }
    if !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(Fault::Coding);
    }
    Ok(())
}

fn expectation(headers: &HeaderMap) -> Result<(), Fault> {
    match headers.get(EXPECT) {
        Some(value) if !value.as_bytes().eq_ignore_ascii_case(b"100-continue") => Err(Fault::Expectation),
        _ => Ok(()),
    }
}

/// Checks the target; true if it says more than a path.
fn target<B>(request: &Request<B>, bounds: &Bounds) -> Result<bool, Fault> {
    let uri = request.uri();
    let Some(path) = uri.path_and_query() else {
        return Err(Fault::Target);
    };
    if path.as_str().len() > bounds.target_bytes {
        return Err(Fault::TargetTooLong);
    }
    let whole_server = path == "*" && request.method() == Method::OPTIONS;
    if !whole_server && !path.as_str().starts_with('/') {
        return Err(Fault::Target);
    }
    match (uri.scheme_str(), uri.authority()) {
        (None, None) => Ok(false),
        (Some("http" | "https"), Some(_)) => Ok(true),
        _ => Err(Fault::Target),
    }
}

fn host<B>(request: &mut Request<B>, absolute: bool, default_host: &Authority) -> Result<(), Fault> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Fault::Host);
    }
    let authority = request.uri().authority().filter(|_| absolute);
    match (host, authority) {
        (Some(host), authority) => {
            let same =
                authority.is_none_or(|named| host.as_bytes().eq_ignore_ascii_case(named.as_str().as_bytes()));
            if same && is_host(host.as_bytes()) {
                Ok(())
            } else {
                Err(Fault::Host)
            }
        }
        (None, Some(authority)) if request.version() != Version::HTTP_11 => {
            if !is_host(authority.as_str().as_bytes()) {
                return Err(Fault::Host);
            }
            let host = HeaderValue::from_str(authority.as_str()).map_err(|_| Fault::Host)?;
            request.headers_mut().insert(HOST, host);
            Ok(())
        }
        (None, None) if request.version() < Version::HTTP_11 => {
            let host = HeaderValue::from_str(default_host.as_str()).map_err(|_| Fault::Host)?;
            request.headers_mut().insert(HOST, host);
            Ok(())
        }
        (None, _) => Err(Fault::Host),
    }
}

/// Whether `text` can be `host [":" port]`: only bytes of RFC 3986's `reg-name`, `IP-literal` and `port`, not empty, no user.
fn is_host(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|byte| {
            matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'[' | b']' | b'%'
                | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b';' | b'=')
        })
}

fn to_origin_form(uri: &mut Uri) -> Result<(), Fault> {
    let mut from = std::mem::take(uri).into_parts();
    let mut to = uri::Parts::default();
    to.path_and_query = from.path_and_query.take();
    *uri = Uri::from_parts(to).map_err(|_| Fault::Target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(request: http::request::Builder) -> Result<Request<()>, Fault> {
        let mut request = request.body(()).unwrap();
        normalize(
            &mut request,
            &Bounds::default(),
            &Authority::from_static("origin:1"),
        )?;
        Ok(request)
    }

    #[test]
    fn an_absolute_target_becomes_a_path_and_must_agree_with_host() {
        let request = normalized(Request::get("http://a.test/x?y=1").header(HOST, "A.test")).unwrap();
        assert_eq!(request.uri(), "/x?y=1");
        assert_eq!(request.uri().authority(), None);
        let other = Request::get("http://a.test/").header(HOST, "b.test");
        assert_eq!(normalized(other).unwrap_err(), Fault::Host);
    }

    #[test]
    fn http_2_gets_its_host_from_the_authority() {
        let request = normalized(Request::get("http://a.test/").version(Version::HTTP_2)).unwrap();
        assert_eq!(request.headers()[HOST], "a.test");
        let missing = Request::get("/").version(Version::HTTP_2);
        assert_eq!(normalized(missing).unwrap_err(), Fault::Host);
    }

    #[test]
    fn only_http_1_0_may_leave_host_out() {
        let old = normalized(Request::get("/").version(Version::HTTP_10)).unwrap();
        assert_eq!(old.headers()[HOST], "origin:1");
        assert_eq!(normalized(Request::get("/")).unwrap_err(), Fault::Host);
    }

    #[test]
    fn a_host_with_a_user_a_list_or_nothing_is_refused() {
        for host in ["", "u@a.test", "a.test, b.test", "a.test/x", "a test"] {
            let request = Request::get("/").header(HOST, host);
            assert_eq!(normalized(request).unwrap_err(), Fault::Host, "{host}");
        }
    }

    #[test]
    fn targets_that_name_no_path_are_refused() {
        let host = |request: http::request::Builder| request.header(HOST, "a.test");
        assert_eq!(
            normalized(host(Request::get("a.test:80"))).unwrap_err(),
            Fault::Target
        );
        assert_eq!(normalized(host(Request::get("*"))).unwrap_err(), Fault::Target);
        assert_eq!(
            normalized(host(Request::get("ftp://a.test/"))).unwrap_err(),
            Fault::Target
        );
        assert!(normalized(host(Request::options("*"))).is_ok());
        assert_eq!(
            normalized(host(Request::connect("a.test:80"))).unwrap_err(),
            Fault::Connect
        );
    }

    #[test]
    fn the_bounds_hold_at_their_edge() {
        let longest = format!("/{}", "a".repeat(Bounds::default().target_bytes - 1));
        let fits = Request::get(&longest).header(HOST, "a.test");
        assert!(normalized(fits).is_ok());
        let beyond = Request::get(format!("{longest}a")).header(HOST, "a.test");
        assert_eq!(normalized(beyond).unwrap_err(), Fault::TargetTooLong);

        let with_fields = |count: usize| {
            (1..count).fold(Request::get("/").header(HOST, "a.test"), |request, _| {
                request.header("x-more", "1")
            })
        };
        let most = Bounds::default().header_fields;
        assert!(normalized(with_fields(most)).is_ok());
        assert_eq!(
            normalized(with_fields(most + 1)).unwrap_err(),
            Fault::TooManyFields
        );
    }

    #[test]
    fn body_lengths_said_twice_or_in_unknown_codings_are_refused() {
        let post = || Request::post("/").header(HOST, "a.test");
        let twice = post()
            .header(TRANSFER_ENCODING, "chunked")
            .header(TRANSFER_ENCODING, "chunked");
        assert_eq!(normalized(twice).unwrap_err(), Fault::Framing);
        let both = post()
            .header(TRANSFER_ENCODING, "chunked")
            .header(CONTENT_LENGTH, "3");
        assert_eq!(normalized(both).unwrap_err(), Fault::Framing);
        let coded = post().header(TRANSFER_ENCODING, "gzip, chunked");
        assert_eq!(normalized(coded).unwrap_err(), Fault::Coding);
        assert!(normalized(post().header(TRANSFER_ENCODING, "Chunked")).is_ok());
        assert_eq!(
            normalized(post().header(EXPECT, "a pony")).unwrap_err(),
            Fault::Expectation
        );
    }
}
