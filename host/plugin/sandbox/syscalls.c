/*
 * syscalls.c - the table of system calls. To add a call, add a row.
 */
#include "host/plugin/sandbox/syscalls.h"
#include <seccomp.h>
#include <stddef.h>

#define NEVER(name)                                                                                                    \
    {                                                                                                                  \
        name, SYSCALL_NEVER, 0, { SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT } \
    }
#define NEWER(name, number)                                                                                            \
    {                                                                                                                  \
        name, SYSCALL_NEVER, number, {                                                                                 \
            SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT                         \
        }                                                                                                              \
    }
#define SPAWN_NEWER(name, number)                                                                                      \
    {                                                                                                                  \
        name, SYSCALL_SPAWN, number, {                                                                                 \
            SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT                         \
        }                                                                                                              \
    }
#define PLAIN(rule, name)                                                                                              \
    {                                                                                                                  \
        name, rule, 0, { SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT }          \
    }
#define OPEN(name, at, path, how)                                                                                      \
    {                                                                                                                  \
        name, SYSCALL_OPEN, 0, { at, path, how, SYSCALL_NO_ARGUMENT }                                                  \
    }
#define ENTRY(name, at, path)                                                                                          \
    {                                                                                                                  \
        name, SYSCALL_ENTRY, 0, { at, path, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT }                                 \
    }
#define ENTRIES(name, a, b, c, d)                                                                                      \
    {                                                                                                                  \
        name, SYSCALL_ENTRY, 0, { a, b, c, d }                                                                         \
    }
#define SET(name, at, path)                                                                                            \
    {                                                                                                                  \
        name, SYSCALL_SET_PATH, 0, { at, path, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT }                              \
    }
#define SET_NEWER(name, n, at, path)                                                                                   \
    {                                                                                                                  \
        name, SYSCALL_SET_PATH, n, { at, path, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT }                              \
    }
#define GET(kind, name, n, at, path)                                                                                   \
    {                                                                                                                  \
        name, kind, n, { at, path, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT }                                          \
    }
#define LINK(name, at, path, buffer, size)                                                                             \
    {                                                                                                                  \
        name, SYSCALL_LINK, 0, { at, path, buffer, size }                                                              \
    }
#define SET_FILE(name)                                                                                                 \
    {                                                                                                                  \
        name, SYSCALL_SET_FILE, 0, { 0, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT, SYSCALL_NO_ARGUMENT }                \
    }
#define NO SYSCALL_NO_ARGUMENT

static const struct syscall_rule syscall_rules[] = {
    /* Other processes: their memory, descriptors and signals. */
    NEVER("ptrace"),
    NEVER("process_vm_readv"),
    NEVER("process_vm_writev"),
    NEVER("process_madvise"),
    NEVER("process_mrelease"),
    NEVER("kcmp"),
    NEVER("pidfd_getfd"),
    PLAIN(SYSCALL_ARGUMENTS, "pidfd_send_signal"),
    PLAIN(SYSCALL_PROCESS, "kill"),
    PLAIN(SYSCALL_PROCESS, "tkill"),
    PLAIN(SYSCALL_PROCESS, "tgkill"),
    PLAIN(SYSCALL_PROCESS, "rt_sigqueueinfo"),
    PLAIN(SYSCALL_PROCESS, "rt_tgsigqueueinfo"),
    PLAIN(SYSCALL_PROCESS, "prlimit64"),
    PLAIN(SYSCALL_PROCESS, "sched_setaffinity"),
    PLAIN(SYSCALL_PROCESS, "sched_setscheduler"),
    PLAIN(SYSCALL_PROCESS, "sched_setparam"),
    PLAIN(SYSCALL_PROCESS, "sched_setattr"),
    PLAIN(SYSCALL_PROCESS, "migrate_pages"),
    PLAIN(SYSCALL_PROCESS, "move_pages"),
    PLAIN(SYSCALL_ARGUMENTS, "setpriority"),
    PLAIN(SYSCALL_ARGUMENTS, "ioprio_set"),
    /* Leaving the process group that ends with the host; settings that the host has made. */
    NEVER("setsid"),
    NEVER("setpgid"),
    PLAIN(SYSCALL_ARGUMENTS, "prctl"),
    PLAIN(SYSCALL_ARGUMENTS, "fcntl"),
    PLAIN(SYSCALL_ARGUMENTS, "ioctl"),
    NEVER("seccomp"),
    /* New processes. */
    PLAIN(SYSCALL_SPAWN, "fork"),
    PLAIN(SYSCALL_SPAWN, "vfork"),
    PLAIN(SYSCALL_ARGUMENTS, "clone"),
    PLAIN(SYSCALL_RUN, "execve"),
    PLAIN(SYSCALL_RUN, "execveat"),
    /* Memory that the limit of data does not count. It is for sharing with other processes. */
    PLAIN(SYSCALL_ARGUMENTS, "mmap"),
    PLAIN(SYSCALL_ARGUMENTS, "mmap2"),
    PLAIN(SYSCALL_SPAWN, "memfd_create"),
    SPAWN_NEWER("memfd_secret", 447),
    /* Sockets, and other ways to reach other processes. */
    PLAIN(SYSCALL_SOCKET, "socket"),
    PLAIN(SYSCALL_ARGUMENTS, "socketpair"),
    NEVER("shmget"),
    NEVER("shmat"),
    NEVER("shmctl"),
    NEVER("semget"),
    NEVER("semctl"),
    NEVER("semop"),
    NEVER("semtimedop"),
    NEVER("msgget"),
    NEVER("msgctl"),
    NEVER("msgsnd"),
    NEVER("msgrcv"),
    NEVER("mq_open"),
    NEVER("mq_unlink"),
    NEVER("keyctl"),
    NEVER("add_key"),
    NEVER("request_key"),
    /* Calls that act without the other calls of this table. */
    NEVER("io_uring_setup"),
    NEVER("io_uring_enter"),
    NEVER("io_uring_register"),
    NEVER("bpf"),
    NEVER("perf_event_open"),
    NEVER("userfaultfd"),
    NEVER("open_by_handle_at"),
    NEVER("fanotify_init"),
    NEVER("fanotify_mark"),
    PLAIN(SYSCALL_INFORM, "inotify_init"),
    PLAIN(SYSCALL_INFORM, "inotify_init1"),
    PLAIN(SYSCALL_INFORM, "inotify_add_watch"),
    NEVER("modify_ldt"),
    NEVER("vm86"),
    NEVER("vm86old"),
    NEVER("ioperm"),
    NEVER("iopl"),
    PLAIN(SYSCALL_ARGUMENTS, "personality"),
    /* The machine. */
    NEVER("mount"),
    NEVER("umount"),
    NEVER("umount2"),
    NEVER("pivot_root"),
    NEVER("chroot"),
    NEVER("move_mount"),
    NEVER("open_tree"),
    NEWER("open_tree_attr", 467),
    NEVER("fsopen"),
    NEVER("fsconfig"),
    NEVER("fsmount"),
    NEVER("fspick"),
    NEVER("mount_setattr"),
    NEVER("setns"),
    NEVER("unshare"),
    NEVER("swapon"),
    NEVER("swapoff"),
    NEVER("quotactl"),
    NEVER("quotactl_fd"),
    NEVER("acct"),
    NEVER("kexec_load"),
    NEVER("kexec_file_load"),
    NEVER("init_module"),
    NEVER("finit_module"),
    NEVER("delete_module"),
    NEVER("create_module"),
    NEVER("reboot"),
    NEVER("syslog"),
    NEVER("sethostname"),
    NEVER("setdomainname"),
    NEVER("settimeofday"),
    NEVER("stime"),
    NEVER("clock_settime"),
    NEVER("clock_settime64"),
    NEVER("clock_adjtime"),
    NEVER("clock_adjtime64"),
    NEVER("vhangup"),
    NEVER("nfsservctl"),
    NEVER("lookup_dcookie"),
    NEVER("uselib"),
    NEVER("_sysctl"),
    /* Files. */
    OPEN("open", NO, 0, 1),
    OPEN("openat", 0, 1, 2),
    OPEN("creat", NO, 0, NO),
    ENTRY("mkdir", NO, 0),
    ENTRY("mkdirat", 0, 1),
    ENTRY("mknod", NO, 0),
    ENTRY("mknodat", 0, 1),
    ENTRY("rmdir", NO, 0),
    ENTRY("unlink", NO, 0),
    ENTRY("unlinkat", 0, 1),
    ENTRY("symlink", NO, 1),
    ENTRY("symlinkat", 1, 2),
    ENTRIES("link", NO, 0, NO, 1),
    ENTRIES("linkat", 0, 1, 2, 3),
    ENTRIES("rename", NO, 0, NO, 1),
    ENTRIES("renameat", 0, 1, 2, 3),
    ENTRIES("renameat2", 0, 1, 2, 3),
    ENTRY("lchown", NO, 0),
    ENTRY("lsetxattr", NO, 0),
    ENTRY("lremovexattr", NO, 0),
    SET("truncate", NO, 0),
    SET("truncate64", NO, 0),
    SET("chmod", NO, 0),
    SET("fchmodat", 0, 1),
    SET_NEWER("fchmodat2", 452, 0, 1),
    SET("chown", NO, 0),
    SET("fchownat", 0, 1),
    SET("utime", NO, 0),
    SET("utimes", NO, 0),
    SET("futimesat", 0, 1),
    SET("utimensat", 0, 1),
    SET("setxattr", NO, 0),
    SET_NEWER("setxattrat", 463, 0, 1),
    SET("removexattr", NO, 0),
    SET_NEWER("removexattrat", 466, 0, 1),
    SET_NEWER("file_setattr", 469, 0, 1),
    SET_FILE("fchmod"),
    SET_FILE("fchown"),
    SET_FILE("fsetxattr"),
    SET_FILE("fremovexattr"),
    GET(SYSCALL_GET_PATH, "getxattr", 0, NO, 0),
    GET(SYSCALL_GET_ENTRY, "lgetxattr", 0, NO, 0),
    GET(SYSCALL_GET_PATH, "getxattrat", 464, 0, 1),
    GET(SYSCALL_GET_PATH, "listxattr", 0, NO, 0),
    GET(SYSCALL_GET_ENTRY, "llistxattr", 0, NO, 0),
    GET(SYSCALL_GET_PATH, "listxattrat", 465, 0, 1),
    LINK("readlink", NO, 0, 1, 2),
    LINK("readlinkat", 0, 1, 2, 3),
    PLAIN(SYSCALL_CWD, "getcwd"),
};

#define COUNT (sizeof syscall_rules / sizeof *syscall_rules)

/* Process-wide: the numbers depend only on the machine. Written once by syscalls_resolve, before the watch starts. */
static int syscall_numbers[COUNT];

void syscalls_resolve(void) {
    for (size_t i = 0; i < COUNT; i++) {
        syscall_numbers[i] = seccomp_syscall_resolve_name(syscall_rules[i].name);
        if (syscall_numbers[i] < 0 && syscall_rules[i].number) syscall_numbers[i] = syscall_rules[i].number;
    }
}

const struct syscall_rule *syscall_rule_by_number(int number) {
    for (size_t i = 0; i < COUNT; i++)
        if (syscall_numbers[i] == number) return &syscall_rules[i];
    return NULL;
}

const struct syscall_rule *syscall_rule_at(unsigned index, int *number) {
    if (index >= COUNT) return NULL;
    *number = syscall_numbers[index];
    return &syscall_rules[index];
}
