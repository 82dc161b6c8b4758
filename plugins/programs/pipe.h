/*
 * pipe.h - writing to a program that may have closed its standard input.
 *
 * Thread: any.
 */
#ifndef TENON_PLUGINS_PIPE_H
#define TENON_PLUGINS_PIPE_H

#include <stddef.h>
#include <sys/types.h>

/* write(2) for pipes, without SIGPIPE: that signal would end the whole process unless it happens to be ignored there.
 * Fails with EPIPE if the program does not read any more. */
ssize_t pipe_write(int descriptor, const char *bytes, size_t length);

#endif
