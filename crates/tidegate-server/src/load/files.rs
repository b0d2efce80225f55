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
    /// The folder whose files they are, if all in it count.
    folder: Option<PathBuf>,
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

    /// The policy files in a folder, in the order of their names. It comes before all that is read.
    ///
    /// # Errors
    /// A folder that is missing or not ours to read, or has more than [`MAX_POLICY_FILES`] of them.
    pub fn list(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let found = policy_files(folder);
        self.folder = Some(folder.to_path_buf());
        for path in found.iter().flatten() {
            let name = path.as_os_str().as_encoded_bytes();
            self.digest.update((name.len() as u64).to_le_bytes());
            self.digest.update(name);
        }
        found
    }

    /// Everything in whose folders something can change what was read.
    pub(crate) fn watched(&self) -> impl Iterator<Item = PathBuf> {
        // Whatever is new in the folder is its neighbour.
        let in_folder = self.folder.iter().map(|folder| folder.join("new.yaml"));
        self.paths.iter().cloned().chain(in_folder)
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
        if let Some(folder) = &self.folder {
            // A folder that is gone is one without files.
            let _ = again.list(folder);
        }
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

/// The most policy files in a folder.
pub const MAX_POLICY_FILES: usize = 1000;

/// What ends in `.yaml` or `.yml` and does not begin with a dot, as editors' and Kubernetes' own files do.
fn policy_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_yaml = path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml");
        if is_yaml && !is_hidden && !path.is_dir() {
            found.push(path);
        }
    }
    if found.len() > MAX_POLICY_FILES {
        let message = format!("there are more than {MAX_POLICY_FILES} policy files in it");
        return Err(io::Error::other(message));
    }
    found.sort_unstable();
    Ok(found)
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

    #[test]
    fn a_folder_has_its_yaml_files_in_order_and_new_ones_change_the_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "").unwrap();
        for name in ["b.yml", "a.yaml", ".hidden.yaml", "notes.txt"] {
            write(name);
        }
        fs::create_dir(folder.path().join("c.yaml")).unwrap();
        let mut files = Files::default();
        let found = files.list(folder.path()).unwrap();
        assert_eq!(found, ["a.yaml", "b.yml"].map(|name| folder.path().join(name)));
        assert_eq!(files.look_again(), files.checksum());
        write("0.yaml");
        assert_ne!(files.look_again(), files.checksum());
        fs::remove_file(folder.path().join("0.yaml")).unwrap();
        assert_eq!(files.look_again(), files.checksum());
    }

    #[test]
    fn the_most_files_of_a_folder_are_listed_and_one_more_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_POLICY_FILES {
            fs::write(folder.path().join(format!("{number}.yaml")), "").unwrap();
        }
        assert_eq!(policy_files(folder.path()).unwrap().len(), MAX_POLICY_FILES);
        fs::write(folder.path().join("more.yaml"), "").unwrap();
        assert!(policy_files(folder.path()).is_err());
    }
}
