//! The features, each with its policy file and the request that uses it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context as _, ensure};

/// Something that a policy file can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Feature {
    /// A limit per client address, and nothing else: what most others are compared with
    Limit,
    /// The same without request ids
    NoRequestIds,
    /// An access log with a line for each request
    AccessLog,
    /// `when` in CEL
    When,
    /// `when`, `key` and `cost` in CEL
    Expressions,
    /// 1,000 policies on other paths
    ThousandPolicies,
    /// A signed token that says who asks
    Token,
    /// A POST of 1 KiB of JSON that no policy looks at
    Post,
    /// The same, counted by `body.json.username`
    Body,
    /// The same with 64 KiB, of which no policy looks at any
    LargePost,
    /// The same, counted by `body.json.username`
    LargeBody,
    /// TLS 1.3, connections kept alive
    Tls,
    /// A new connection for each request, in clear
    Connect,
    /// A new connection with a TLS 1.3 handshake for each request
    Handshake,
}

/// A secret that tokens are signed with here.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

impl Feature {
    pub(crate) const ALL: [Self; 14] = [
        Self::Limit,
        Self::NoRequestIds,
        Self::AccessLog,
        Self::When,
        Self::Expressions,
        Self::ThousandPolicies,
        Self::Token,
        Self::Post,
        Self::Body,
        Self::LargePost,
        Self::LargeBody,
        Self::Tls,
        Self::Connect,
        Self::Handshake,
    ];

    /// The name in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit per address",
            Self::NoRequestIds => "without request ids",
            Self::AccessLog => "access log",
            Self::When => "`when` in CEL",
            Self::Expressions => "`when`, `key` and `cost` in CEL",
            Self::ThousandPolicies => "1,000 policies",
            Self::Token => "token (HS256, seen before)",
            Self::Post => "POST of 1 KiB",
            Self::Body => "1 KiB, key `body.json.username`",
            Self::LargePost => "POST of 60 KiB",
            Self::LargeBody => "60 KiB, key `body.json.username`",
            Self::Tls => "TLS, kept alive",
            Self::Connect => "new connection each",
            Self::Handshake => "new TLS connection each",
        }
    }

    /// What it is compared with.
    pub(crate) const fn beside(self) -> Self {
        match self {
            Self::Body => Self::Post,
            Self::LargeBody => Self::LargePost,
            Self::Handshake => Self::Connect,
            _ => Self::Limit,
        }
    }

    pub(crate) const fn scheme(self) -> &'static str {
        match self {
            Self::Tls | Self::Handshake => "https",
            _ => "http",
        }
    }

    /// The environment of the client's script.
    pub(crate) fn request(self, files: &Files) -> Vec<(&'static str, String)> {
        match self {
            Self::Post | Self::Body => vec![("BODY", document(1024))],
            Self::LargePost | Self::LargeBody => vec![("BODY", document(60 * 1024))],
            Self::Connect | Self::Handshake => vec![("CLOSE", "1".to_owned())],
            Self::Token => vec![("TOKEN", files.token.clone())],
            _ => Vec::new(),
        }
    }

    fn policies(self) -> String {
        let limit = "limit: { quota: 1000000000, window: 1s }";
        let policy = |rest: &str| format!("  - {{ name: address, {rest}, {limit} }}\n");
        let mut policies = match self {
            Self::When => {
                policy(r#"key: [client.ip], when: 'request.method == "GET" && request.path.startsWith("/")'"#)
            }
            Self::Expressions => policy(
                r#"key: ['client.ip + request.method'], when: 'request.method == "GET" && request.path.startsWith("/")', cost: 'request.method == "POST" ? 5 : 1'"#,
            ),
            Self::Token => policy("key: [identity]"),
            Self::Body | Self::LargeBody => policy("key: [body.json.username]"),
            _ => policy("key: [client.ip]"),
        };
        if self == Self::ThousandPolicies {
            for number in 1..1000 {
                // A `String` takes everything.
                let _ = writeln!(
                    policies,
                    "  - {{ name: p{number}, match: {{ path: /resource{number}/** }}, key: [client.ip], {limit} }}"
                );
            }
        }
        policies
    }
}

/// JSON of about so many bytes, the interesting member in its middle.
fn document(bytes: usize) -> String {
    let items: String = iter::repeat_n(r#"{"id":12345678,"name":"some thing"},"#, bytes / 72).collect();
    let items = items.trim_end_matches(',');
    format!(r#"{{"before":[{items}],"username":"ann","after":[{items}]}}"#)
}

/// The files that policy files name.
pub(crate) struct Files {
    folder: PathBuf,
    token: String,
}

impl Files {
    /// Makes a certificate, a secret and a token in `folder`.
    pub(crate) fn made(folder: &Path) -> anyhow::Result<Self> {
        openssl(
            folder,
            &[
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout",
                "key.pem",
                "-out",
                "cert.pem",
            ],
        )?;
        fs::write(folder.join("secret"), SECRET)?;
        Ok(Self {
            folder: folder.to_owned(),
            token: token(folder)?,
        })
    }

    /// Writes the policy file of `feature`, and says where.
    pub(crate) fn write(&self, feature: Feature, port: u16, origin: u16) -> anyhow::Result<String> {
        let listen = match feature.scheme() {
            "https" => format!(
                "[{{ address: \"127.0.0.1:{port}\", tls: {{ certificates: [{{ certificate: cert.pem, key: key.pem }}] }} }}]"
            ),
            _ => format!("\"127.0.0.1:{port}\""),
        };
        let ids = if feature == Feature::NoRequestIds {
            ", request_ids: off"
        } else {
            ""
        };
        let bounds = "max_connections_per_address: 10000";
        let mut text = format!(
            "gateway: {{ listen: {listen}, upstream: \"http://127.0.0.1:{origin}\", workers: 1{ids}, limits: {{ {bounds} }} }}\n"
        );
        match feature {
            Feature::AccessLog => text.push_str("access_log: access.log\n"),
            Feature::Token => text.push_str(
                "identity: { jwt: { issuer: bench, audience: bench, algorithms: [HS256], secret_file: secret } }\n",
            ),
            _ => {}
        }
        text.push_str("policies:\n");
        text.push_str(&feature.policies());
        let file = self.folder.join(format!("{feature:?}.yaml"));
        fs::write(&file, text)?;
        Ok(file.display().to_string())
    }
}

/// A token that holds for a day.
fn token(folder: &Path) -> anyhow::Result<String> {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)?
        .as_secs();
    let claims = format!(
        r#"{{"iss":"bench","aud":"bench","sub":"ann","exp":{}}}"#,
        now + 86_400
    );
    let signed = format!(
        "{}.{}",
        base64url(folder, br#"{"alg":"HS256","typ":"JWT"}"#)?,
        base64url(folder, claims.as_bytes())?
    );
    fs::write(folder.join("signed"), &signed)?;
    let signature = openssl(folder, &["dgst", "-sha256", "-hmac", SECRET, "-binary", "signed"])?;
    Ok(format!("{signed}.{}", base64url(folder, &signature)?))
}

fn base64url(folder: &Path, bytes: &[u8]) -> anyhow::Result<String> {
    fs::write(folder.join("bytes"), bytes)?;
    let encoded = String::from_utf8(openssl(folder, &["base64", "-A", "-in", "bytes"])?)?;
    Ok(encoded
        .trim()
        .trim_end_matches('=')
        .replace('+', "-")
        .replace('/', "_"))
}

/// What `openssl` prints when run in `folder`.
fn openssl(folder: &Path, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .context("running openssl")?;
    ensure!(
        output.status.success(),
        "openssl said: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}
