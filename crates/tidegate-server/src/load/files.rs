//! Reading files, and remembering which they were and what they held.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::MAX_FILE_BYTES;

/// The files that a configuration came from. Whatever is read through this is watched and belongs to the checksum; files that
/// could not be read too, since they may appear.
#[derive(Clone, Debug, Default)]
pub struct Files {
    paths: Vec<PathBuf>,
    digest: Sha256,
}

/// What files held, as a checksum. Equal ones mean that nothing has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum([u8; 32]);

impl Files {
    /// The bytes of a file, at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// A file that is missing, too large, or not ours to read.
    pub fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let content = File::open(path).and_then(read_bounded);
        self.paths.push(path.to_path_buf());
        self.count(path, &content);
        content
    }

    /// The text of a file, at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// The same, and [`io::ErrorKind::InvalidData`] for a file that is not UTF-8.
    pub fn read_text(&mut self, path: &Path) -> io::Result<String> {
        text(self.read(path)?)
    }

    /// The files, in the order in which they were read.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// What they held.
    pub fn checksum(&self) -> Checksum {
        Checksum(self.digest.clone().finalize().into())
    }

    /// What the same files hold now.
    pub(crate) fn look_again(&self) -> Checksum {
        let mut again = Self::default();
        for path in &self.paths {
            // Counted in the checksum, like what can be read.
            let _ = again.read(path);
        }
        again.checksum()
    }

    /// Lengths come first, so that no two lists of files look the same.
    fn count(&mut self, path: &Path, content: &io::Result<Vec<u8>>) {
        let path = path.as_os_str().as_encoded_bytes();
        self.digest.update((path.len() as u64).to_le_bytes());
        self.digest.update(path);
        match content {
            Ok(bytes) => {
                self.digest.update((bytes.len() as u64).to_le_bytes());
                self.digest.update(bytes);
            }
            Err(error) => {
                self.digest.update(u64::MAX.to_le_bytes());
                self.digest.update(format!("{:?}", error.kind()));
            }
        }
    }
}

impl Checksum {
    /// As people compare it: twelve hexadecimal digits.
    pub fn short(&self) -> String {
        self.0[..6].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

pub(super) fn read_text(input: impl Read) -> io::Result<String> {
    text(read_bounded(input)?)
}

fn read_bounded(input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if input.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)? as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than 16 MiB",
        ));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn checksum(paths: &[&Path]) -> Checksum {
        let mut files = Files::default();
        for path in paths {
            let _ = files.read(path);
        }
        assert_eq!(files.look_again(), files.checksum());
        files.checksum()
    }

    #[test]
    fn the_checksum_tells_contents_names_and_missing_files_apart() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let missing = checksum(&[&one, &two]);
        fs::write(&one, "").unwrap();
        let empty = checksum(&[&one, &two]);
        fs::write(&one, "ab").unwrap();
        let first = checksum(&[&one, &two]);
        fs::rename(&one, &two).unwrap();
        let second = checksum(&[&one, &two]);
        let each = [missing, empty, first, second];
        for (index, checksum) in each.iter().enumerate() {
            assert!(!each[..index].contains(checksum), "{index}");
        }
        fs::write(&two, "a").unwrap();
        fs::write(&two, "ab").unwrap();
        assert_eq!(checksum(&[&one, &two]), second);
    }

    #[test]
    fn the_short_form_is_the_beginning_in_hexadecimal() {
        let mut bytes = [0; 32];
        bytes[..7].copy_from_slice(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xff]);
        assert_eq!(Checksum(bytes).short(), "0123456789ab");
    }
}
