//! No room left: on a small disk in memory, filled while two processes work, and emptied again.

use std::{fs::File, io::Write, path::Path, process::Command, time::Duration};

use crate::round::{At, Told, start, wait};
use crate::skipped::skipped;

pub(crate) fn disk() -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let mounted = rustix::process::geteuid().is_root()
        && Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(&disk)
            .status()
            .is_ok_and(|status| status.success());
    if !mounted {
        skipped("a full disk (mounting a small tmpfs needs root)");
        return Vec::new();
    }
    let _unmount = Unmount(&disk);
    let mut violations = Vec::new();
    let mut told = Told::default();
    for number in 0..6 {
        // The downstream and what was acknowledged are elsewhere: only the store runs out of room.
        let at = At { url: None, home: disk.join("home") };
        let outside = folder.path().join("outside");
        std::fs::create_dir_all(&outside).expect("a folder");
        for name in ["downstream", "acks", "round"] {
            let link = at.home.with_extension(name);
            let target = outside.join(name);
            if !target.exists() {
                File::create(&target).expect("a file");
                std::os::unix::fs::symlink(&target, &link).expect("a link");
            }
        }
        std::fs::write(outside.join("round"), format!("full{number}")).expect("writes");
        let mut one = start(&at, "a", None);
        std::thread::sleep(Duration::from_millis(10 * number));
        fill(&disk.join("filler"));
        let mut two = start(&at, "b", None);
        std::thread::sleep(Duration::from_millis(150));
        if number % 2 == 0 {
            let _ = std::fs::remove_file(disk.join("filler"));
        }
        wait(&mut one, Duration::from_secs(60));
        wait(&mut two, Duration::from_secs(60));
        let _ = std::fs::remove_file(disk.join("filler"));
        let found = crate::check::all(&at, &mut told);
        violations.extend(found.into_iter().map(|v| format!("full disk, round {number}: {v}")));
    }
    println!(
        "full disk: {} calls proposed, {} ok, {} unknown, {} refused, {} effects",
        told.proposed, told.ok, told.unknown, told.refused, told.effects
    );
    violations
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    let block = [0; 4096];
    while file.write_all(&block).is_ok() {}
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
