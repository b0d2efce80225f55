//! The request that is asked about.

use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use crate::arguments::ExplainArguments;

/// The request that is asked about.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A request as its pieces are written.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pub(crate) method: Option<String>,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn of_flags(arguments: &ExplainArguments) -> Result<Self, String> {
        let Some(url) = &arguments.url else {
            return Err(
                "say which request: `--url URL`, `--har FILE`, or a curl command line after `--`".to_owned(),
            );
        };
        let field = |line: &String| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| format!("`{line}` is not a header field: write `name: value`"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        Pieces {
            method: arguments.method.clone(),
            url: url.clone(),
            headers: arguments
                .header
                .iter()
                .map(field)
                .collect::<Result<_, String>>()?,
            body: arguments.body.clone().unwrap_or_default().into_bytes(),
        }
        .joined()
    }
}

impl Pieces {
    /// The request, if its pieces are right.
    pub(crate) fn joined(self) -> Result<Asked, String> {
        let url = if self.url.contains("://") || self.url.starts_with('/') {
            self.url
        } else {
            format!("http://{}", self.url)
        };
        let uri: Uri = url
            .split('#')
            .next()
            .unwrap_or_default()
            .parse()
            .map_err(|error| format!("`{url}` is not a URL: {error}"))?;
        let usual = if self.body.is_empty() { "GET" } else { "POST" };
        let method = self.method.unwrap_or_else(|| usual.to_owned());
        let method =
            Method::from_bytes(method.as_bytes()).map_err(|_| format!("`{method}` is not a method"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| format!("`{name}` is not the name of a header field"))?;
            let value = HeaderValue::from_str(&value)
                .map_err(|_| format!("`{value}` is not the value of a field"))?;
            headers.append(name, value);
        }
        if let (Some(authority), false) = (uri.authority(), headers.contains_key(HOST)) {
            let host = authority.as_str().rsplit('@').next().unwrap_or_default();
            headers.extend(HeaderValue::from_str(host).ok().map(|host| (HOST, host)));
        }
        Ok(Asked {
            method,
            uri,
            headers,
            body: self.body,
        })
    }
}
