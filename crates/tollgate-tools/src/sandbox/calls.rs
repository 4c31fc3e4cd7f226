//! System calls that a command has no use for and an escape has: closed by seccomp.

use std::{collections::BTreeMap, io};

use seccompiler::BpfProgram;

use super::{
    Confined,
    filter::{self, Answer, Look},
};

/// Bits of `clone` that make a namespace.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();

/// Where the network is open: the internet, and what a program asks about it. A socket in the file system can be one
/// to a powerful program, so there is none of those.
const FAMILIES: &[i32] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

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

/// The filter for a command: these calls are answered with "not permitted", everything else is let through.
pub(super) fn filter(confined: Confined, network: bool) -> io::Result<BpfProgram> {
    let denied = Answer::Errno(libc::EPERM);
    let mut answers: BTreeMap<i64, Answer> = CLOSED.iter().map(|call| (*call, denied)).collect();
    if confined == Confined::Reading {
        answers.extend(CHANGING.iter().chain(CHANGING_OLD).map(|call| (*call, denied)));
    }
    answers.insert(
        libc::SYS_socket,
        if network { Answer::Look(Look::OneOf(FAMILIES), libc::EPERM) } else { denied },
    );
    answers.insert(libc::SYS_clone, Answer::Look(Look::NoneOf(NAMESPACES), libc::EPERM));
    // Its flags are hidden from a filter; told that it does not exist, every library falls back to `clone`.
    answers.insert(libc::SYS_clone3, Answer::Errno(libc::ENOSYS));
    filter::program(&answers)
}
