/*
 * syscalls.h - the system calls that are refused, or that are allowed depending on a path or on the target process.
 *
 * One table. filter.c builds the kernel's rules from it, and watch.c names the refused call from it. A call that is not
 * in the table is allowed: a list of allowed calls would break with the next version of the C library.
 *
 *     syscalls_resolve();                                                   // once, before the other functions
 *     const struct syscall_rule *rule = syscall_rule_by_number(number);     // NULL if the table has no such call
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_SYSCALLS_H
#define TENON_HOST_PLUGIN_SANDBOX_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

enum syscall_kind {
    SYSCALL_NEVER,     /* refused; no effect allows it */
    SYSCALL_SPAWN,     /* allowed by process.spawn */
    SYSCALL_RUN,       /* allowed by process.spawn, and for a plugin that is a program */
    SYSCALL_SOCKET,    /* some address families are allowed by net:raw */
    SYSCALL_ARGUMENTS, /* refused with some arguments; filter.c has the list */
    SYSCALL_OPEN,      /* takes a path: arguments are folder, path, flags */
    SYSCALL_ENTRY,     /* changes a directory entry: arguments are folder, path, and optionally folder, path again */
    SYSCALL_SET_PATH,  /* changes the file that the path refers to: folder, path */
    SYSCALL_SET_FILE,  /* changes the file of a descriptor */
    SYSCALL_GET_PATH,  /* reads attributes of the file that the path refers to: folder, path */
    SYSCALL_GET_ENTRY, /* the same, of a link itself */
    SYSCALL_LINK,      /* readlink, which the watch performs: folder, path, buffer, size */
    SYSCALL_CWD,       /* getcwd, which the watch performs */
    SYSCALL_INFORM,    /* reports changes of any file: allowed if every file may be read */
    SYSCALL_PROCESS    /* acts on the process in argument 0: only itself and its children are allowed */
};

#define SYSCALL_NO_ARGUMENT (-1)

struct syscall_rule {
    const char *name;
    enum syscall_kind kind;
    int32_t number;      /* used if libseccomp is older than the call; else 0 */
    int8_t arguments[4]; /* positions of the arguments that `kind` names, or SYSCALL_NO_ARGUMENT */
};

/* Looks up the numbers of all calls on this machine. Thread: the only thread of the process. */
void syscalls_resolve(void);
const struct syscall_rule *syscall_rule_by_number(int number);
/* Iterates over the table: NULL after the last row. `number` is negative if this machine does not have the call. */
const struct syscall_rule *syscall_rule_at(unsigned index, int *number);

#endif
