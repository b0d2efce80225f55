//! From files on disk to a configuration that can be served: the policy file, and the files it names.

mod error;
mod files;
mod keys_file;
mod store;
mod token_keys;
mod upstream_tls;

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_core::KeyHasher;
use tidegate_policy::{
    Access, Config, Door, FileReport, Forwarding, Identifier, PolicyFile, Problems, Tokens, Upstream,
    compile_all,
};

use tidegate_store::redis;

use crate::clock::Clock;
use crate::tls::{self, TlsListener};
use crate::token_keys::KeyOrigin;
use crate::upstream::TlsClient;

pub use error::LoadError;
pub(crate) use error::in_words;
pub use files::{Checksum, Files, MAX_POLICY_FILES};
pub use keys_file::Checked;
pub use token_keys::TokenKeysFault;

/// The policy file that holds when none is given.
pub const BUILT_IN: &str = include_str!("../../../examples/tidegate.yaml");

/// The largest file that is read, in bytes. 10,000 policies need less.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The text of `input`, called `name` in messages, within the bound of a file.
///
/// # Errors
/// [`LoadError::Unreadable`]
pub fn read_text(name: &str, input: impl Read) -> Result<String, LoadError> {
    files::read_text(input).map_err(|error| LoadError::unreadable(name, error))
}

/// Where policies come from.
#[derive(Clone, Debug)]
pub struct PolicySource {
    name: String,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// Text that stays as it is. Files that it names are looked for in the working folder.
    Text(String),
    /// A file, read at each load. Files that it names are looked for in its folder.
    File(PathBuf),
    /// A folder, all of whose policy files are read at each load. Files that they name are looked for in it.
    Folder(PathBuf),
}

/// A policy file as it was read.
struct Written {
    name: String,
    text: String,
}

impl Written {
    fn file(&self) -> PolicyFile<'_> {
        PolicyFile {
            name: &self.name,
            text: &self.text,
        }
    }
}

impl PolicySource {
    /// The built-in policies: a burst of 10 per client address, refilled at one every two seconds.
    pub fn built_in() -> Self {
        Self {
            name: "the built-in policies".to_owned(),
            place: Place::Text(BUILT_IN.to_owned()),
        }
    }

    /// The file at `path`, or all `*.yaml` and `*.yml` in the folder there, read at each load. A pipe, which can be read only once, is read
    /// here.
    ///
    /// # Errors
    /// [`LoadError::Unreadable`], of a pipe.
    pub fn file(path: &Path) -> Result<Self, LoadError> {
        let name = path.display().to_string();
        if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let pipe = File::open(path).map_err(|error| LoadError::unreadable(&name, error))?;
            return Self::read_from(&name, pipe);
        }
        let place = if path.is_dir() {
            Place::Folder(path.to_path_buf())
        } else {
            Place::File(path.to_path_buf())
        };
        Ok(Self { name, place })
    }

    /// What `input` holds, called `name` in messages. Files that it names are looked for in the working folder.
    ///
    /// # Errors
    /// [`LoadError::Unreadable`]
    pub fn read_from(name: &str, input: impl Read) -> Result<Self, LoadError> {
        let text = read_text(name, input)?;
        Ok(Self {
            name: name.to_owned(),
            place: Place::Text(text),
        })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it means, together with the files that it names.
    ///
    /// # Errors
    /// [`LoadError`], with everything that is wrong at once.
    pub fn load(&self, hasher: &KeyHasher) -> Result<Loaded, LoadError> {
        self.load_from(&mut Files::default(), hasher)
    }

    /// The same. `files` then knows what was read, whether or not it was of use.
    ///
    /// # Errors
    /// The same.
    pub fn load_from(&self, files: &mut Files, hasher: &KeyHasher) -> Result<Loaded, LoadError> {
        let read = self.read(files)?;
        let all: Vec<PolicyFile<'_>> = read.iter().map(Written::file).collect();
        let Some((first, others)) = all.split_first() else {
            let none = io::Error::other("there is no *.yaml or *.yml in it");
            return Err(LoadError::unreadable(&self.name, none));
        };
        let compiled = compile_all(*first, others, hasher)?;
        let now = Clock::system().now();
        let warnings = compiled.warnings_at(now);
        let mut config = compiled.config;
        self.read_lists(files, &mut config.access)?;
        let store = match &config.store.shared {
            Some(shared) => {
                let access = self.read_store(files, shared)?;
                if let Some(secret) = &access.key_secret {
                    config.policies.name_shared_under(secret);
                }
                Some(access.settings)
            }
            None => None,
        };
        self.read_door_passwords(files, &mut config.gateway)?;
        let (tokens, key_origins) = match &config.identity.jwt {
            Some(settings) => {
                let tokens = Tokens {
                    settings: settings.clone(),
                };
                (Some(tokens), self.read_token_keys(files, settings)?)
            }
            None => (None, Vec::new()),
        };
        let (api_keys, doubts) = self.read_api_keys(files, &config)?;
        let mut report = FileReport::new(*first, others);
        let tls = tls::Source {
            folder: self.folder(),
            now,
            files,
            report: &mut report,
        }
        .load(&config.gateway.listen);
        let warnings = report.finish(warnings).and(doubts);
        if warnings.has_errors() {
            return Err(warnings.into());
        }
        let mut upstream_tls = Vec::new();
        for upstream in &config.forwarding.upstreams {
            upstream_tls.push(self.tls_client(files, upstream)?);
        }
        Ok(Loaded {
            identifier: Identifier {
                api_keys,
                tokens,
                order: config.identity.order,
            },
            key_origins,
            store,
            config,
            tls,
            upstream_tls,
            warnings,
        })
    }

    /// The policy files, in their order.
    fn read(&self, files: &mut Files) -> Result<Vec<Written>, LoadError> {
        let (own, folder) = match &self.place {
            Place::Text(text) => {
                return Ok(vec![Written {
                    name: self.name.clone(),
                    text: text.clone(),
                }]);
            }
            Place::File(path) => (std::slice::from_ref(path), None),
            Place::Folder(path) => (&[][..], Some(path)),
        };
        let listed = match folder {
            Some(folder) => files
                .list(folder)
                .map_err(|error| LoadError::unreadable(&self.name, error))?,
            None => Vec::new(),
        };
        let paths = own.iter().chain(&listed);
        paths
            .map(|path| {
                let name = path.display().to_string();
                match files.read_text(path) {
                    Ok(text) => Ok(Written { name, text }),
                    Err(error) => Err(LoadError::unreadable(&name, error)),
                }
            })
            .collect()
    }

    /// Where the files are that the policy file names.
    fn folder(&self) -> &Path {
        let folder = match &self.place {
            Place::Text(_) => None,
            Place::File(path) => path.parent(),
            Place::Folder(path) => Some(&**path),
        };
        folder.unwrap_or(Path::new(""))
    }

    /// The files of addresses that `access` names.
    fn read_lists(&self, files: &mut Files, access: &mut Access) -> Result<(), LoadError> {
        let names: Vec<String> = access.files().into_iter().map(str::to_owned).collect();
        for named in names {
            let Named { name, text } = self.read_named(files, &named);
            let text = text.map_err(|error| LoadError::UnreadableList {
                name: name.clone(),
                named_in: self.name.clone(),
                error,
            })?;
            let file = PolicyFile {
                name: &name,
                text: &text,
            };
            access.read_file(&named, file)?;
        }
        Ok(())
    }

    /// How TLS to `upstream` is spoken, if it is.
    fn tls_client(&self, files: &mut Files, upstream: &Upstream) -> Result<Option<TlsClient>, LoadError> {
        upstream_tls::client(upstream, |file| {
            let path = self.folder().join(file);
            files
                .read(&path)
                .map_err(|error| format!("cannot read {}: {}", path.display(), in_words(&error)))
        })
    }

    /// The file that the policy file calls `file`, looked for beside it.
    fn read_named(&self, files: &mut Files, file: &str) -> Named {
        let path = self.folder().join(file);
        Named {
            name: path.display().to_string(),
            text: files.read_text(&path),
        }
    }
}

/// A file that a policy file names.
struct Named {
    name: String,
    text: io::Result<String>,
}

/// A configuration that can be served.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the policy file means.
    pub config: Config,
    /// The TLS of its listeners, in their order.
    pub tls: Vec<Option<Arc<TlsListener>>>,
    /// Finds out who sent a request: with the API keys it names, and by the tokens it speaks of.
    pub identifier: Identifier,
    /// Where the keys of those who issue tokens come from.
    pub key_origins: Vec<KeyOrigin>,
    /// How the store is spoken to that instances share, if there is one.
    pub store: Option<redis::Settings>,
    /// How TLS to each of its upstreams is spoken, in their order.
    pub upstream_tls: Vec<Option<TlsClient>>,
    /// What its writer should look at.
    pub warnings: Problems,
}

impl Loaded {
    /// The gateway listens at `address` alone, without TLS, whatever the file says; doors stay where they are.
    pub fn listen_at(&mut self, address: SocketAddr) {
        let listen = &mut self.config.gateway.listen;
        let mut kept = listen.iter().map(|listener| listener.door != Door::Gateway);
        self.tls.retain(|_| kept.next().unwrap_or(false));
        listen.retain(|listener| listener.door != Door::Gateway);
        listen.insert(0, address.into());
        self.tls.insert(0, None);
    }

    /// What no route matches goes to `upstream`, whatever the file says.
    ///
    /// # Errors
    /// [`LoadError::UpstreamTls`] if it wants TLS and the system has no roots.
    pub fn protect(&mut self, upstream: &Upstream) -> Result<(), LoadError> {
        let forwarding = &mut self.config.forwarding;
        forwarding.set_default(upstream.clone());
        if self.upstream_tls.len() < forwarding.upstreams.len() {
            let unread = |file: &str| Err(format!("cannot read {file}: the command line names no files"));
            self.upstream_tls.push(upstream_tls::client(upstream, unread)?);
        }
        Ok(())
    }

    /// Everything goes to `upstream`, whatever the file says.
    ///
    /// # Errors
    /// The same.
    pub fn protect_only(&mut self, upstream: &Upstream) -> Result<(), LoadError> {
        self.config.forwarding = Forwarding::default();
        self.upstream_tls.clear();
        self.protect(upstream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasher() -> KeyHasher {
        KeyHasher::new([7; 16])
    }

    fn load(path: &str) -> Result<Loaded, LoadError> {
        PolicySource::file(Path::new(path))?.load(&hasher())
    }

    #[test]
    fn a_file_that_cannot_be_read_says_which_and_why() {
        let missing = load("/nowhere/tidegate.yaml").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "cannot read /nowhere/tidegate.yaml: there is no such file"
        );
        let folder = load("/").unwrap_err();
        assert_eq!(
            folder.to_string(),
            "cannot read /: there is no *.yaml or *.yml in it"
        );
        let binary = PolicySource::read_from("<stdin>", &b"\xff\xfe"[..]).unwrap_err();
        assert_eq!(binary.to_string(), "cannot read <stdin>: it is not UTF-8 text");
    }

    #[test]
    fn the_largest_file_is_read_and_one_more_byte_is_not() {
        assert!(PolicySource::read_from("<stdin>", io::repeat(b' ').take(MAX_FILE_BYTES)).is_ok());
        let error =
            PolicySource::read_from("<stdin>", io::repeat(b' ').take(MAX_FILE_BYTES + 1)).unwrap_err();
        assert_eq!(error.to_string(), "cannot read <stdin>: it is larger than 16 MiB");
    }

    #[test]
    fn files_of_addresses_are_read_from_the_folder_of_the_policy_file() {
        let folder = tempfile::tempdir().unwrap();
        let policies = folder.path().join("tidegate.yaml");
        std::fs::write(&policies, "access: { deny: { file: bad.txt } }\npolicies: []").unwrap();
        let load = || PolicySource::file(&policies).unwrap().load(&hasher());
        let missing = load().unwrap_err().to_string();
        assert!(
            missing.contains("bad.txt, the addresses that ") && missing.contains("there is no such file"),
            "{missing}"
        );
        std::fs::write(folder.path().join("bad.txt"), "192.0.2.0/24\n").unwrap();
        let access = load().unwrap().config.access;
        let now = tidegate_core::Timestamp::EPOCH;
        assert!(access.denies_address("192.0.2.1".parse().unwrap(), now));
        assert!(!access.denies_address("192.0.3.1".parse().unwrap(), now));
    }

    #[test]
    fn the_built_in_policies_are_valid_and_without_warnings() {
        let loaded = PolicySource::built_in().load(&hasher()).unwrap();
        assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
        assert_eq!(loaded.config.policies.policies().len(), 1);
        assert!(loaded.identifier.api_keys.is_none());
    }
}
