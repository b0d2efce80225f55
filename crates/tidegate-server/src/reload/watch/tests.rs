use std::os::unix::fs::symlink;

use super::*;

fn folders(file: &Path) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    folders_of(file, &mut folders);
    folders
}

/// A folder without links in its own path.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

#[test]
fn a_plain_file_is_watched_in_its_folder_whether_or_not_it_exists() {
    let (_kept, top) = folder();
    assert_eq!(folders(&top.join("missing.yaml")), BTreeSet::from([top.clone()]));
    fs::write(top.join("here.yaml"), "").unwrap();
    assert_eq!(folders(&top.join("./here.yaml")), BTreeSet::from([top.clone()]));
    assert_eq!(folders(&top.join("missing/../here.yaml")), BTreeSet::from([top]));
}

#[test]
fn where_folders_are_missing_the_last_one_that_exists_is_watched() {
    let (_kept, top) = folder();
    assert_eq!(folders(&top.join("a/b/c.yaml")), BTreeSet::from([top]));
}

#[test]
fn every_link_on_the_way_is_watched_where_it_can_be_swapped() {
    // As Kubernetes mounts a config map.
    let (_kept, top) = folder();
    let version = top.join("..2027_01_01");
    fs::create_dir(&version).unwrap();
    fs::write(version.join("tidegate.yaml"), "").unwrap();
    symlink("..2027_01_01", top.join("..data")).unwrap();
    symlink("..data/tidegate.yaml", top.join("tidegate.yaml")).unwrap();
    assert_eq!(
        folders(&top.join("tidegate.yaml")),
        BTreeSet::from([top.clone(), version.clone()])
    );

    let elsewhere = top.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(top.join("tidegate.yaml"), elsewhere.join("link.yaml")).unwrap();
    assert_eq!(
        folders(&elsewhere.join("link.yaml")),
        BTreeSet::from([top, version, elsewhere])
    );
}

#[test]
fn links_that_lead_in_a_circle_end() {
    let (_kept, top) = folder();
    symlink("b", top.join("a")).unwrap();
    symlink("a", top.join("b")).unwrap();
    assert_eq!(folders(&top.join("a")), BTreeSet::from([top]));
}

#[test]
fn as_many_links_are_followed_as_linux_follows() {
    let (_kept, top) = folder();
    let far = top.join("far");
    fs::create_dir(&far).unwrap();
    fs::write(far.join("0"), "").unwrap();
    symlink("far/0", top.join("1")).unwrap();
    for link in 2..=MOST_LINKS + 1 {
        symlink((link - 1).to_string(), top.join(link.to_string())).unwrap();
    }
    let last = top.join(MOST_LINKS.to_string());
    assert!(last.exists() && folders(&last).contains(&far));
    let one_more = top.join((MOST_LINKS + 1).to_string());
    assert!(!one_more.exists() && !folders(&one_more).contains(&far));
}

#[test]
fn reading_is_no_change_and_everything_else_is() {
    use notify::event::{CreateKind, ModifyKind, RemoveKind};
    let (open, read) = (
        AccessKind::Open(AccessMode::Any),
        AccessKind::Close(AccessMode::Read),
    );
    for kind in [EventKind::Access(open), EventKind::Access(read)] {
        assert!(!is_change(&kind), "{kind:?}");
    }
    for kind in [
        EventKind::Access(AccessKind::Close(AccessMode::Write)),
        EventKind::Create(CreateKind::File),
        EventKind::Modify(ModifyKind::Any),
        EventKind::Remove(RemoveKind::File),
        EventKind::Any,
    ] {
        assert!(is_change(&kind), "{kind:?}");
    }
}
