//! Adding an entry to a key file, all or nothing.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tidegate_policy::{Keyring, PolicyFile};

/// Who may read a new key file: its owner alone.
const NEW_MODE: u32 = 0o600;

/// Adds `entry` to the key file at `path`, which is made if it is not there.
///
/// A reader sees the file from before or the whole new one: the text is written beside it and takes its place at once.
pub(super) fn append(path: &Path, entry: &str) -> Result<(), String> {
    // Through symbolic links, so that the file takes the place of what they lead to and not of them.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.display();
    let (text, permissions) = match read(&path) {
        Ok(found) => found,
        Err(error) => return Err(format!("cannot read {name}: {error}")),
    };
    let text = joined(&name.to_string(), &text, entry)?;
    replace(&path, &text, permissions).map_err(|error| format!("cannot write {name}: {error}"))
}

/// What the file says and who may read it; nothing if it is not there.
fn read(path: &Path) -> io::Result<(String, Permissions)> {
    match fs::read_to_string(path) {
        Ok(text) => Ok((text, fs::metadata(path)?.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok((String::new(), Permissions::from_mode(NEW_MODE)))
        }
        Err(error) => Err(error),
    }
}

/// `text` with `entry` at its end, if that is a key file with one key more.
fn joined(name: &str, text: &str, entry: &str) -> Result<String, String> {
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let is_blank = text.lines().all(is_comment);
    let count = if is_blank { 0 } else { keys(name, text)? };
    // An empty list is written `[]`, and nothing can follow that.
    let mut joined: String = match count {
        0 => text
            .lines()
            .filter(|line| line.trim() != "[]")
            .map(|line| format!("{line}\n"))
            .collect(),
        _ => text.to_owned(),
    };
    if !joined.is_empty() && !joined.ends_with('\n') {
        joined.push('\n');
    }
    joined.push_str(entry);
    match keys(name, &joined) {
        Ok(now) if now == count + 1 => Ok(joined),
        _ if keys(name, entry).is_ok_and(|one| one == 1) && text.contains(first_line(entry)) => {
            Err(format!("{name} has this key already"))
        }
        _ => Err(format!(
            "{name} is not written as a list of lines that begin with `- `: add the entry by hand"
        )),
    }
}

fn first_line(entry: &str) -> &str {
    entry.lines().next().unwrap_or(entry)
}

fn keys(name: &str, text: &str) -> Result<usize, String> {
    Keyring::parse(PolicyFile { name, text })
        .map(|keys| keys.len())
        .map_err(|problems| problems.to_string())
}

fn replace(path: &Path, text: &str, permissions: Permissions) -> io::Result<()> {
    let beside = beside(path);
    let written = write(&beside, text, permissions).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Nobody needs a half of it; the error tells what went wrong.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write(path: &Path, text: &str, permissions: Permissions) -> io::Result<()> {
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(NEW_MODE)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(permissions)?;
    file.sync_all()
}

/// A name in the same folder that nobody else takes.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str =
        "- hash: sha256:0000000000000000000000000000000000000000000000000000000000000001\n  subject: a\n";
    const OTHER: &str =
        "- hash: sha256:0000000000000000000000000000000000000000000000000000000000000002\n  subject: b\n";

    #[test]
    fn an_entry_goes_to_the_end_whatever_the_file_held() {
        for (text, expected) in [
            ("", ENTRY.to_owned()),
            ("# keys\n", format!("# keys\n{ENTRY}")),
            ("[]", ENTRY.to_owned()),
            ("# keys\n[]\n", format!("# keys\n{ENTRY}")),
            (OTHER, format!("{OTHER}{ENTRY}")),
            (OTHER.trim_end(), format!("{OTHER}{ENTRY}")),
        ] {
            assert_eq!(joined("k", text, ENTRY).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_would_be_broken_stays_as_it_is() {
        let flow = format!("[{{ hash: {}, subject: b }}]", &OTHER[8..79]);
        assert!(keys("k", &flow).is_ok(), "{flow}");
        assert!(joined("k", &flow, ENTRY).unwrap_err().contains("by hand"));
        assert!(joined("k", ENTRY, ENTRY).unwrap_err().contains("already"));
        assert!(joined("k", "a: b\n", ENTRY).is_err());
    }

    #[test]
    fn the_file_keeps_its_permissions_and_its_symbolic_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("keys.yaml"), folder.path().join("link.yaml"));
        append(&file, ENTRY).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), NEW_MODE);
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        append(&link, OTHER).unwrap();
        assert_eq!(mode(&file), 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{ENTRY}{OTHER}"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
