//! The tree the path cases refer to: `{T}` is the folder, `{W}` its `work`.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

pub(crate) fn build(top: &Path) {
    let work = top.join("work");
    for folder in [
        "work/src/deep",
        "work/sub/.git",
        "work/.git/hooks",
        "work/.ssh",
        "work/race",
        "work2",
        "work-old",
        "workspace",
        "Work",
        "outside_dir/inner",
    ] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    for file in [
        "work/a.txt",
        "work/src/main.rs",
        "work/.git/config",
        "work/.env",
        "work/.ssh/id_ed25519",
        "work/approve_me.txt",
        "work/race/target",
        "secret.txt",
        "work2/a.txt",
        "work-old/a.txt",
        "work.bak",
        "Work/a.txt",
        "outside_dir/secret.txt",
        "outside_dir/target",
    ] {
        fs::write(top.join(file), file).unwrap();
    }
    let link = |target: &Path, name: &str| symlink(target, work.join(name)).unwrap();
    for (target, name) in [
        ("a.txt", "link_in"),
        ("src", "dirlink_in"),
        ("chain_in2", "chain_in1"),
        ("src/main.rs", "chain_in2"),
        ("../secret.txt", "link_rel_out"),
        ("chain_out2", "chain_out1"),
        ("link_out", "chain_out2"),
        ("/", "src/deep/link_root"),
        ("/proc/self/root", "proc_root_link"),
        ("loop2", "loop1"),
        ("loop1", "loop2"),
        (".git", "gitlink"),
    ] {
        link(Path::new(target), name);
    }
    link(&work.join("a.txt"), "abslink_in");
    link(&top.join("secret.txt"), "link_out");
    link(&top.join("outside_dir"), "dirlink_out");
    link(&top.join("not_yet"), "dangling_out");
    symlink("work", top.join("wlink")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, top.join("fifo"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    fs::hard_link(top.join("outside_dir/secret.txt"), work.join("hard_out")).unwrap();
}

/// Everything outside the workspace: names, kinds and content.
pub(crate) fn outside(top: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if path == top.join("work") || path == top.join("journal") {
                continue;
            }
            if kind.is_dir() {
                folders.push(path.clone());
            }
            let content = kind.is_file().then(|| fs::read(&path).unwrap());
            found.insert(path, content);
        }
    }
    found
}
