//! System calls that a command has no use for and an escape has: closed by seccomp.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::Confined;

/// Bits of `clone` that make a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Always closed: other ways to the kernel, other processes, the machine itself.
const CLOSED: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Closed to a command that only reads: what changes a file without opening it.
const CHANGING: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_truncate,
    FCHMODAT2,
];
/// Younger than the constants.
const FCHMODAT2: i64 = 452;
#[cfg(target_arch = "x86_64")]
const CHANGING_OLD: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_creat,
];
#[cfg(not(target_arch = "x86_64"))]
const CHANGING_OLD: &[i64] = &[];

/// The number of a call in the other table of the same processor, which would pass a filter that forgot it.
#[cfg(target_arch = "x86_64")]
const OTHER_TABLE: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_TABLE: Option<i64> = None;

/// The filter for a command: the calls are answered with "not permitted", everything else is let through.
pub(super) fn filter(confined: Confined, network: bool) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let mut close = |call: i64| {
        rules.insert(call, Vec::new());
        if let Some(offset) = OTHER_TABLE {
            rules.insert(call + offset, Vec::new());
        }
    };
    CLOSED.iter().for_each(|call| close(*call));
    if confined == Confined::Reading {
        CHANGING.iter().chain(CHANGING_OLD).for_each(|call| close(*call));
    }
    if !network {
        // No socket of any family: a path in the file system can be one to a powerful program, too.
        close(libc::SYS_socket);
    }
    let mut namespaces = Vec::new();
    for bit in NAMESPACES {
        let bit = u64::from(bit.cast_unsigned());
        let set = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit)
            .map_err(other)?;
        namespaces.push(SeccompRule::new(vec![set]).map_err(other)?);
    }
    rules.insert(libc::SYS_clone, namespaces);
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(other)?;
    let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).map_err(other)?;
    BpfProgram::try_from(filter).map_err(other)
}

/// `clone3` hides its flags from a filter; told that it does not exist, every library falls back to `clone`.
pub(super) fn without_clone3() -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.insert(libc::SYS_clone3, Vec::new());
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(other)?;
    let absent = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, absent, arch).map_err(other)?;
    BpfProgram::try_from(filter).map_err(other)
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}
