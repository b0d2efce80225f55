//! A request as a curl command line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::asked::{Asked, Pieces};

/// Flags that change nothing of the request that policies see.
const IDLE: [&str; 22] = [
    "-s",
    "--silent",
    "-S",
    "--show-error",
    "-L",
    "--location",
    "-k",
    "--insecure",
    "-v",
    "--verbose",
    "-i",
    "--include",
    "-f",
    "--fail",
    "-N",
    "--no-buffer",
    "--compressed",
    "--http1.1",
    "--http2",
    "--fail-with-body",
    "-#",
    "--globoff",
];

/// The same, with a value.
const IDLE_WITH_VALUE: [&str; 14] = [
    "-o",
    "--output",
    "-m",
    "--max-time",
    "--connect-timeout",
    "-w",
    "--write-out",
    "--retry",
    "-x",
    "--proxy",
    "--cacert",
    "--resolve",
    "--limit-rate",
    "-c",
];

/// Short and long spellings of flags with a value that this command reads.
const KNOWN: [(&str, &str); 16] = [
    ("-X", "--request"),
    ("-H", "--header"),
    ("-d", "--data"),
    ("", "--data-raw"),
    ("", "--data-binary"),
    ("", "--data-ascii"),
    ("", "--json"),
    ("-u", "--user"),
    ("-A", "--user-agent"),
    ("-b", "--cookie"),
    ("-e", "--referer"),
    ("", "--url"),
    ("-G", "--get"),
    ("-I", "--head"),
    ("", "--oauth2-bearer"),
    ("", "--request-target"),
];

/// The request of `line`: `curl -X POST https://… -d …`.
pub(crate) fn parse(line: &[String]) -> Result<Asked, String> {
    let mut words = line.iter().map(String::as_str);
    if let Some(first) = line.first()
        && first != "curl"
    {
        return Err(format!(
            "a curl command line begins with `curl`, and this one with `{first}`"
        ));
    }
    words.next();
    let mut reading = Reading::default();
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            reading.long(word, &mut words)?;
        } else if word.len() > 1 && word.starts_with('-') {
            reading.short(&word[1..], &mut words)?;
        } else {
            reading.pieces.url = word.to_owned();
        }
    }
    reading.finished()
}

#[derive(Default)]
struct Reading {
    pieces: Pieces,
    data: Vec<String>,
    is_json: bool,
    get: bool,
}

impl Reading {
    fn long<'l>(&mut self, word: &'l str, rest: &mut impl Iterator<Item = &'l str>) -> Result<(), String> {
        match word {
            "--get" => self.get = true,
            "--head" => self.pieces.method = Some("HEAD".to_owned()),
            word if IDLE.contains(&word) => {}
            word if IDLE_WITH_VALUE.contains(&word) => _ = rest.next(),
            word if KNOWN.iter().any(|(_, long)| *long == word) => {
                let value = rest.next().ok_or_else(|| format!("`{word}` has no value"))?;
                self.value(word, value)?;
            }
            word => return Err(unknown(word)),
        }
        Ok(())
    }

    /// Short flags, of which several may stand together: `-sSXPOST`.
    fn short<'l>(&mut self, flags: &'l str, rest: &mut impl Iterator<Item = &'l str>) -> Result<(), String> {
        for (place, letter) in flags.char_indices() {
            let flag = format!("-{letter}");
            match flag.as_str() {
                "-G" => self.get = true,
                "-I" => self.pieces.method = Some("HEAD".to_owned()),
                flag if IDLE.contains(&flag) => {}
                flag => {
                    let long = KNOWN
                        .iter()
                        .find(|(short, _)| *short == flag)
                        .map(|(_, long)| *long);
                    let known = long.is_some() || IDLE_WITH_VALUE.contains(&flag);
                    if !known {
                        return Err(unknown(flag));
                    }
                    let attached = &flags[place + letter.len_utf8()..];
                    let value = if attached.is_empty() {
                        rest.next()
                    } else {
                        Some(attached)
                    };
                    let value = value.ok_or_else(|| format!("`{flag}` has no value"))?;
                    return long.map_or(Ok(()), |long| self.value(long, value));
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, flag: &str, value: &str) -> Result<(), String> {
        let field = |name: &str, value: String| (name.to_owned(), value);
        match flag {
            "--request" => self.pieces.method = Some(value.to_owned()),
            "--header" => {
                let line = value.split_once(':').or_else(|| value.split_once(';'));
                let (name, value) = line.ok_or_else(|| format!("`{value}` is not a header field"))?;
                self.pieces
                    .headers
                    .push(field(name.trim(), value.trim().to_owned()));
            }
            "--user" => {
                let basic = format!("Basic {}", STANDARD.encode(value));
                self.pieces.headers.push(field("authorization", basic));
            }
            "--oauth2-bearer" => self
                .pieces
                .headers
                .push(field("authorization", format!("Bearer {value}"))),
            "--user-agent" => self.pieces.headers.push(field("user-agent", value.to_owned())),
            "--cookie" => self.pieces.headers.push(field("cookie", value.to_owned())),
            "--referer" => self.pieces.headers.push(field("referer", value.to_owned())),
            "--url" => self.pieces.url = value.to_owned(),
            "--request-target" => return Err(unknown(flag)),
            _ if value.starts_with('@') && flag != "--data-raw" => {
                return Err(format!("`{flag} {value}` reads a file: write what it holds"));
            }
            "--json" => {
                self.is_json = true;
                self.data.push(value.to_owned());
            }
            _ => self.data.push(value.to_owned()),
        }
        Ok(())
    }

    fn finished(mut self) -> Result<Asked, String> {
        if self.pieces.url.is_empty() {
            return Err("this curl command line has no URL".to_owned());
        }
        let data = self.data.join(if self.is_json { "" } else { "&" });
        let said = |headers: &[(String, String)], name| {
            headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        if self.get && !data.is_empty() {
            let mark = if self.pieces.url.contains('?') { '&' } else { '?' };
            self.pieces.url = format!("{}{mark}{data}", self.pieces.url);
        } else if !self.data.is_empty() {
            self.pieces.method.get_or_insert("POST".to_owned());
            let media_type = if self.is_json {
                "application/json"
            } else {
                "application/x-www-form-urlencoded"
            };
            if !said(&self.pieces.headers, "content-type") {
                self.pieces
                    .headers
                    .push(("content-type".to_owned(), media_type.to_owned()));
            }
            self.pieces.body = data.into_bytes();
        }
        for (name, value) in [("user-agent", "curl"), ("accept", "*/*")] {
            if !said(&self.pieces.headers, name) {
                self.pieces.headers.push((name.to_owned(), value.to_owned()));
            }
        }
        self.pieces.joined()
    }
}

fn unknown(flag: &str) -> String {
    format!("the curl flag `{flag}` is not understood here: remove it if it does not change the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn the_usual_flags_make_the_request_that_curl_sends() {
        let posted =
            asked("curl -sSLXPUT https://a.test:8443/x?y=1 -Hx-a:b --data c=d -d e=f -o out -u ann:pw")
                .unwrap();
        assert_eq!((posted.method.as_str(), posted.uri.path()), ("PUT", "/x"));
        assert_eq!(posted.headers["host"], "a.test:8443");
        assert_eq!(posted.headers["x-a"], "b");
        assert_eq!(posted.headers["authorization"], "Basic YW5uOnB3");
        assert_eq!(
            posted.headers["content-type"],
            "application/x-www-form-urlencoded"
        );
        assert_eq!(posted.body, b"c=d&e=f");
        assert_eq!(asked("curl a.test --json {}").unwrap().method, "POST");
        let got = asked("curl -G a.test/s?a=1 -d q=x").unwrap();
        assert_eq!((got.method.as_str(), got.uri.query()), ("GET", Some("a=1&q=x")));
        assert_eq!(asked("curl -I a.test").unwrap().method, "HEAD");
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, named) in [
            ("curl --form a=b a.test", "--form"),
            ("curl -sF a=b a.test", "-F"),
            ("curl -d @file a.test", "@file"),
            ("curl -s", "no URL"),
            ("wget a.test", "wget"),
            ("curl a.test -H", "-H"),
        ] {
            let error = asked(line).unwrap_err();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
