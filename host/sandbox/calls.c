/*
 * calls.c - the table. Adding a call is adding a row.
 */
#include "host/sandbox/calls.h"
#include <seccomp.h>
#include <stddef.h>

#define NEVER(name)                                                                                                    \
    {                                                                                                                  \
        name, CALL_NEVER, 0, { CALL_NONE, CALL_NONE, CALL_NONE, CALL_NONE }                                            \
    }
#define NEWER(name, number)                                                                                            \
    {                                                                                                                  \
        name, CALL_NEVER, number, { CALL_NONE, CALL_NONE, CALL_NONE, CALL_NONE }                                       \
    }
#define PLAIN(rule, name)                                                                                              \
    {                                                                                                                  \
        name, rule, 0, { CALL_NONE, CALL_NONE, CALL_NONE, CALL_NONE }                                                  \
    }
#define OPEN(name, at, path, how)                                                                                      \
    {                                                                                                                  \
        name, CALL_OPEN, 0, { at, path, how, CALL_NONE }                                                               \
    }
#define ENTRY(name, at, path)                                                                                          \
    {                                                                                                                  \
        name, CALL_CHANGE, 0, { at, path, CALL_NONE, CALL_NONE }                                                       \
    }
#define ENTRIES(name, a, b, c, d)                                                                                      \
    {                                                                                                                  \
        name, CALL_CHANGE, 0, { a, b, c, d }                                                                           \
    }
#define SET(name, at, path)                                                                                            \
    {                                                                                                                  \
        name, CALL_SET, 0, { at, path, CALL_NONE, CALL_NONE }                                                          \
    }
#define SET_NEWER(name, n, at, path)                                                                                   \
    {                                                                                                                  \
        name, CALL_SET, n, { at, path, CALL_NONE, CALL_NONE }                                                          \
    }
#define SET_FILE(name)                                                                                                 \
    {                                                                                                                  \
        name, CALL_SET_FILE, 0, { 0, CALL_NONE, CALL_NONE, CALL_NONE }                                                 \
    }
#define NO CALL_NONE

static const struct call table[] = {
    /* Other processes: their memory, their descriptors, their end. */
    NEVER("ptrace"),
    NEVER("process_vm_readv"),
    NEVER("process_vm_writev"),
    NEVER("process_madvise"),
    NEVER("process_mrelease"),
    NEVER("kcmp"),
    NEVER("pidfd_getfd"),
    PLAIN(CALL_SOME, "pidfd_send_signal"),
    PLAIN(CALL_PROCESS, "kill"),
    PLAIN(CALL_PROCESS, "tkill"),
    PLAIN(CALL_PROCESS, "tgkill"),
    PLAIN(CALL_PROCESS, "rt_sigqueueinfo"),
    PLAIN(CALL_PROCESS, "rt_tgsigqueueinfo"),
    PLAIN(CALL_PROCESS, "prlimit64"),
    PLAIN(CALL_PROCESS, "sched_setaffinity"),
    PLAIN(CALL_PROCESS, "sched_setscheduler"),
    PLAIN(CALL_PROCESS, "sched_setparam"),
    PLAIN(CALL_PROCESS, "sched_setattr"),
    PLAIN(CALL_PROCESS, "migrate_pages"),
    PLAIN(CALL_PROCESS, "move_pages"),
    PLAIN(CALL_SOME, "setpriority"),
    PLAIN(CALL_SOME, "ioprio_set"),
    /* Leaving the group that ends with the host, and what the host has set. */
    NEVER("setsid"),
    NEVER("setpgid"),
    PLAIN(CALL_SOME, "prctl"),
    PLAIN(CALL_SOME, "fcntl"),
    PLAIN(CALL_SOME, "ioctl"),
    NEVER("seccomp"),
    /* New processes. */
    PLAIN(CALL_SPAWN, "fork"),
    PLAIN(CALL_SPAWN, "vfork"),
    PLAIN(CALL_SOME, "clone"),
    PLAIN(CALL_RUN, "execve"),
    PLAIN(CALL_RUN, "execveat"),
    /* Sockets, and what else leads to processes that are not ours. */
    PLAIN(CALL_SOCKET, "socket"),
    PLAIN(CALL_SOME, "socketpair"),
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
    /* What would be done without passing this table. */
    NEVER("io_uring_setup"),
    NEVER("io_uring_enter"),
    NEVER("io_uring_register"),
    NEVER("bpf"),
    NEVER("perf_event_open"),
    NEVER("userfaultfd"),
    NEVER("open_by_handle_at"),
    NEVER("fanotify_init"),
    NEVER("fanotify_mark"),
    NEVER("modify_ldt"),
    NEVER("vm86"),
    NEVER("vm86old"),
    NEVER("ioperm"),
    NEVER("iopl"),
    PLAIN(CALL_SOME, "personality"),
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
};

#define COUNT (sizeof table / sizeof *table)

static int numbers[COUNT];

void calls_resolve(void) {
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = seccomp_syscall_resolve_name(table[i].name);
        if (numbers[i] < 0 && table[i].number) numbers[i] = table[i].number;
    }
}

const struct call *call_find(int number) {
    for (size_t i = 0; i < COUNT; i++)
        if (numbers[i] == number) return &table[i];
    return NULL;
}

const struct call *call_at(unsigned index, int *number) {
    if (index >= COUNT) return NULL;
    *number = numbers[index];
    return &table[index];
}
