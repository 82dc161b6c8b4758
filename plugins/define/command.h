/*
 * command.h - one program that runs for a call: shared by command_start.c, which starts it, and command.c, which
 * handles its input, its output and its end.
 *
 *     struct command *command = …;                 // command_start.c: memory, pipes, process
 *     if (!command_watch(command, timeout_ms)) …   // from now on, command.c ends the call and frees the command
 *
 * Thread: loop.
 */
#ifndef TENON_PLUGINS_DEFINE_COMMAND_H
#define TENON_PLUGINS_DEFINE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>
#include <tenon/easy.h>
#include <tenon/util/text.h>

#define COMMAND_OUTPUT_MAX (4u << 20)
#define COMMAND_ERRORS_MAX (16u << 10) /* of standard error; the rest is read and discarded */
#define COMMAND_LOG_MAX    4096u       /* of a line of the sandbox */

/* Our ends of the pipes. COMMAND_LOG is what the sandbox logs. */
enum { COMMAND_OUT, COMMAND_ERR, COMMAND_LOG, COMMAND_IN, COMMAND_ENDS };

struct call;

struct command {
    struct call *call; /* NULL: the call has ended */
    pid_t pid;
    int pid_descriptor;
    int ends[COMMAND_ENDS]; /* -1: closed, or not open */
    uint64_t watches[COMMAND_ENDS], pid_watch, timer;
    tn_value input;
    uint64_t written;
    struct tn_text_buffer out, err, log;
    bool leads_group; /* a process group; false in a sandbox that forbids groups and ends with all its processes */
    bool exited, output_too_long, timed_out, cancelled;
    int status;
};

/* Watches the pipes, the end of the process and its time limit. Returns false if that is not possible. */
bool command_watch(struct command *command, int64_t timeout_ms);
/* Kills the program, and its process group if it leads one. */
void command_kill(const struct command *command);
void command_free(struct command *command);

#endif
