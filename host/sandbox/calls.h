/*
 * calls.h - the system calls that are refused, or that depend on a path or on whose process it is.
 *
 * One table; the filter (filter.c) makes the kernel's rules from it, and the watch (watch.c) says what was refused.
 * What is not in it is allowed: a list of what is allowed instead would break with the C library's next version.
 *
 *     calls_resolve();                                 // once, before either
 *     const struct call *call = call_find(number);     // NULL: not of the table
 */
#ifndef TENON_HOST_SANDBOX_CALLS_H
#define TENON_HOST_SANDBOX_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum call_rule {
    CALL_NEVER,    /* refused, and no effect opens it */
    CALL_SPAWN,    /* opened by process.spawn */
    CALL_RUN,      /* opened by process.spawn, and for a plugin that is a program */
    CALL_SOCKET,   /* opened for some families by net:raw */
    CALL_SOME,     /* refused with some arguments: filter.c says which */
    CALL_OPEN,     /* of a path: arguments are folder, path, flags */
    CALL_CHANGE,   /* of a path's entry: folder, path, and again */
    CALL_SET,      /* the same, of what the path leads to */
    CALL_SET_FILE, /* of a descriptor */
    CALL_PROCESS   /* of a process: argument 0 is its number; one's own and one's children are allowed */
};

#define CALL_NONE (-1) /* no such argument */

struct call {
    const char *name;
    enum call_rule rule;
    int32_t number;      /* known only to kernels newer than libseccomp; else 0, and resolved */
    int8_t arguments[4]; /* which they are */
};

void calls_resolve(void);
const struct call *call_find(int number);
/* Row by row; NULL after the last. `number` is negative where this machine has no such call. */
const struct call *call_at(unsigned index, int *number);

#endif
