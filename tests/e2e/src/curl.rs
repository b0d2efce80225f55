//! curl as a client.

use std::process::Command;

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The first line, such as `HTTP/1.1 200 OK` or `HTTP/2 200`.
    pub start: String,
    /// The status.
    pub status: u16,
    /// Every field, its name in lower case, in the order of arrival.
    pub fields: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
}

impl Reply {
    /// The value of a field that may appear once.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut values = self
            .fields
            .iter()
            .filter(|(found, _)| found == name)
            .map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} came twice");
        value
    }

    /// The value of a field that holds a number.
    pub fn number(&self, name: &str) -> u64 {
        let value = self
            .field(name)
            .unwrap_or_else(|| panic!("no {name} in {self:?}"));
        value.parse().unwrap_or_else(|_| panic!("{name}: {value}"))
    }

    fn parse(text: &str) -> Self {
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no response: {text:?}"));
        // An interim response (100 Continue) comes before the final one.
        if head
            .split(' ')
            .nth(1)
            .is_some_and(|status| status.starts_with('1') && !status.starts_with("101"))
        {
            return Self::parse(body);
        }
        let (start, fields) = head.split_once("\r\n").unwrap_or((head, ""));
        let fields = fields.lines().filter_map(|line| line.split_once(':'));
        Self {
            start: start.trim_end().into(),
            status: start.split(' ').nth(1).unwrap().parse().unwrap(),
            fields: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().into()))
                .collect(),
            body: body.into(),
        }
    }
}

/// Runs `curl -i` with these arguments; there has to be a response.
pub fn curl(arguments: &[&str]) -> Reply {
    try_curl(arguments).unwrap_or_else(|told| panic!("curl {arguments:?}: {told}"))
}

/// Runs `curl -i` with these arguments. Err with what curl says if there was no response.
pub fn try_curl(arguments: &[&str]) -> Result<Reply, String> {
    let output = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--include",
            "--max-time",
            "120",
            "--noproxy",
            "*",
        ])
        .args(arguments)
        .output()
        .expect("curl runs; `cargo xtask tools` installs it");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(Reply::parse(&String::from_utf8_lossy(&output.stdout)))
}
