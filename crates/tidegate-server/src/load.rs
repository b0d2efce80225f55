//! From files on disk to a configuration that can be served: the policy file, and the files it names.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::{error, fmt};

use tidegate_core::KeyHasher;
use tidegate_policy::{Access, ApiKeys, Config, Keyring, PolicyFile, Problems, compile};

use crate::clock::Clock;

/// The policy file that holds when none is given.
pub const BUILT_IN: &str = include_str!("../../../examples/tidegate.yaml");

/// The largest file that is read, in bytes. 10,000 policies need less.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// A policy file, read and not yet understood.
#[derive(Clone, Debug)]
pub struct PolicySource {
    name: String,
    text: String,
    folder: PathBuf,
}

impl PolicySource {
    /// The built-in policies: a burst of 10 per client address, refilled at one every two seconds.
    pub fn built_in() -> Self {
        Self {
            name: "the built-in policies".to_owned(),
            text: BUILT_IN.to_owned(),
            folder: PathBuf::new(),
        }
    }

    /// The file at `path`.
    ///
    /// # Errors
    /// [`LoadError::Unreadable`]
    pub fn read_file(path: &Path) -> Result<Self, LoadError> {
        let text = File::open(path)
            .and_then(read_text)
            .map_err(|error| LoadError::unreadable(path.display(), error))?;
        Ok(Self {
            name: path.display().to_string(),
            text,
            folder: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        })
    }

    /// What `input` holds, called `name` in messages. Files that it names are looked for in the working folder.
    ///
    /// # Errors
    /// [`LoadError::Unreadable`]
    pub fn read_from(name: &str, input: impl Read) -> Result<Self, LoadError> {
        let text = read_text(input).map_err(|error| LoadError::unreadable(name, error))?;
        Ok(Self {
            name: name.to_owned(),
            text,
            folder: PathBuf::new(),
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
        let file = PolicyFile {
            name: &self.name,
            text: &self.text,
        };
        let compiled = compile(file, hasher)?;
        let warnings = compiled.warnings_at(Clock::system().now());
        let mut config = compiled.config;
        self.read_lists(&mut config.access)?;
        let api_keys = match &config.identity.api_key {
            Some(settings) => {
                let keyring = self.read_keyring(&settings.keys)?;
                Some(ApiKeys {
                    settings: settings.clone(),
                    keyring,
                })
            }
            None => None,
        };
        Ok(Loaded {
            config,
            api_keys,
            warnings,
        })
    }
}

impl PolicySource {
    /// The files of addresses that `access` names.
    fn read_lists(&self, access: &mut Access) -> Result<(), LoadError> {
        let names: Vec<String> = access.files().into_iter().map(str::to_owned).collect();
        for name in names {
            let list = Self::read_file(&self.folder.join(&name)).map_err(|error| match error {
                LoadError::Unreadable { name, error } => LoadError::UnreadableList {
                    name,
                    named_in: self.name.clone(),
                    error,
                },
                other => other,
            })?;
            let file = PolicyFile {
                name: &list.name,
                text: &list.text,
            };
            access.read_file(&name, file)?;
        }
        Ok(())
    }

    /// The key file called `keys` in the policy file.
    fn read_keyring(&self, keys: &str) -> Result<Keyring, LoadError> {
        let keys = Self::read_file(&self.folder.join(keys)).map_err(|error| match error {
            LoadError::Unreadable { name, error } => LoadError::UnreadableKeys {
                name,
                named_in: self.name.clone(),
                error,
            },
            other => other,
        })?;
        Ok(Keyring::parse(PolicyFile {
            name: &keys.name,
            text: &keys.text,
        })?)
    }
}

/// A configuration that can be served.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the policy file means.
    pub config: Config,
    /// The API keys it names, if it does.
    pub api_keys: Option<ApiKeys>,
    /// What its writer should look at.
    pub warnings: Problems,
}

/// Why there is no configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// A file is missing, too large, not text, or not ours to read.
    Unreadable {
        /// The file.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// The same, of the key file that a policy file names.
    UnreadableKeys {
        /// The key file.
        name: String,
        /// The policy file.
        named_in: String,
        /// Why.
        error: io::Error,
    },
    /// The same, of a file of addresses that a policy file names.
    UnreadableList {
        /// The file of addresses.
        name: String,
        /// The policy file.
        named_in: String,
        /// Why.
        error: io::Error,
    },
    /// A file says something wrong.
    Invalid(Problems),
}

impl LoadError {
    fn unreadable(name: impl fmt::Display, error: io::Error) -> Self {
        Self::Unreadable {
            name: name.to_string(),
            error,
        }
    }
}

impl From<Problems> for LoadError {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { name, error } => write!(f, "cannot read {name}: {}", in_words(error)),
            Self::UnreadableKeys {
                name,
                named_in,
                error,
            } => write!(
                f,
                "cannot read {name}, the API keys that {named_in} names: {} (`tidegate hash-key` makes its entries)",
                in_words(error)
            ),
            Self::UnreadableList {
                name,
                named_in,
                error,
            } => write!(
                f,
                "cannot read {name}, the addresses that {named_in} names: {} (write one address or network a line)",
                in_words(error)
            ),
            Self::Invalid(problems) => problems.fmt(f),
        }
    }
}

impl error::Error for LoadError {}

fn read_text(input: impl Read) -> io::Result<String> {
    let mut text = String::new();
    if input.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)? as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than 16 MiB",
        ));
    }
    Ok(text)
}

/// What went wrong, without the system's error number.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasher() -> KeyHasher {
        KeyHasher::new([7; 16])
    }

    #[test]
    fn a_file_that_cannot_be_read_says_which_and_why() {
        let missing = PolicySource::read_file(Path::new("/nowhere/tidegate.yaml")).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "cannot read /nowhere/tidegate.yaml: there is no such file"
        );
        let folder = PolicySource::read_file(Path::new("/")).unwrap_err();
        assert_eq!(folder.to_string(), "cannot read /: it is a folder");
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
        let load = || PolicySource::read_file(&policies).unwrap().load(&hasher());
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
        assert!(loaded.api_keys.is_none());
    }
}
