//! How a client likes to be told, kept for when something goes wrong: its request may have gone by then.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

use super::accept;
use super::form::{Form, Framing};
use super::refusal::NO_STORE;

/// How the client of one request likes to be told. Making it reads as little as possible, since most requests go well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liking(Kept);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    /// It calls by gRPC.
    Call(Framing),
    /// This is what it accepts. None: it says nothing.
    Accepted(Option<HeaderValue>),
    /// It says so in several fields.
    Form(Form),
}

impl Liking {
    /// That of the client of a request.
    pub fn of(method: &Method, fields: &HeaderMap) -> Self {
        if let Some(framing) = accept::call(method, fields) {
            return Self(Kept::Call(framing));
        }
        let mut lines = fields.get_all(header::ACCEPT).iter();
        Self(match (lines.next(), lines.next()) {
            (only, None) => Kept::Accepted(only.cloned()),
            _ => Kept::Form(accept::by_accept(fields)),
        })
    }

    /// A response that says what the problem document `document` does, in the form that the client likes best.
    pub fn tell(&self, status: StatusCode, document: Bytes) -> Response<Bytes> {
        let form = self.form();
        let mut fields = HeaderMap::new();
        fields.insert(header::CACHE_CONTROL, NO_STORE);
        fields.insert(header::CONTENT_TYPE, form.media_type());
        form.response(status, fields, document)
    }

    fn form(&self) -> Form {
        match &self.0 {
            Kept::Call(framing) => Form::Grpc(*framing),
            Kept::Form(form) => *form,
            Kept::Accepted(None) => Form::Json,
            Kept::Accepted(Some(accepted)) => {
                accept::by_accept(&HeaderMap::from_iter([(header::ACCEPT, accepted.clone())]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (name.parse().unwrap(), HeaderValue::from_static(value))
        };
        let mut fields = HeaderMap::new();
        for (name, value) in lines.iter().map(line) {
            let _: bool = fields.append::<http::HeaderName>(name, value);
        }
        fields
    }

    #[test]
    fn what_is_kept_leads_to_the_form_that_a_refusal_would_have() {
        for (method, lines, form) in [
            (Method::GET, &[][..], Form::Json),
            (Method::GET, &[("accept", "*/*")], Form::Json),
            (Method::GET, &[("accept", "text/html,*/*;q=0.8")], Form::Html),
            (
                Method::GET,
                &[("accept", "image/png"), ("accept", "text/plain")],
                Form::Plain,
            ),
            (
                Method::POST,
                &[("content-type", "application/grpc")],
                Form::Grpc(Framing::Fields),
            ),
            (
                Method::POST,
                &[("content-type", "application/grpc-web")],
                Form::Grpc(Framing::Web),
            ),
            (Method::GET, &[("content-type", "application/grpc")], Form::Json),
        ] {
            assert_eq!(Liking::of(&method, &fields(lines)).form(), form, "{lines:?}");
        }
    }

    #[test]
    fn a_call_is_told_by_its_status_and_nobody_keeps_it() {
        let document =
            Bytes::from_static(br#"{"title":"Bad Gateway","detail":"No.","error":"upstream_closed"}"#);
        let call = Liking::of(&Method::POST, &fields(&[("content-type", "application/grpc")]));
        let told = call.tell(StatusCode::BAD_GATEWAY, document.clone());
        assert_eq!(
            (told.status(), &told.headers()["grpc-status"]),
            (StatusCode::OK, &HeaderValue::from_static("14"))
        );
        let other =
            Liking::of(&Method::GET, &HeaderMap::new()).tell(StatusCode::BAD_GATEWAY, document.clone());
        assert_eq!(
            (other.status(), other.body()),
            (StatusCode::BAD_GATEWAY, &document)
        );
        assert_eq!(other.headers()[header::CACHE_CONTROL], "no-store");
    }
}
