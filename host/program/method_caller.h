/*
 * method_caller.h - calls methods for commands: in a host of the command, or, with --connect, in a host that runs.
 *
 * A command that uses only this works with both, and prints the same. Without --connect, the host is opened with the
 * global options; it and its runs end with the command.
 *
 *     struct method_caller *caller;
 *     int code = method_caller_open(&caller, arguments, NULL, NULL);
 *     tn_value result = NULL;
 *     if (!code) code = method_caller_call_take(caller, "thread/list", params, &result);
 *     ...
 *     method_caller_free(caller);
 *
 * Everything is on the thread of the caller.
 */
#ifndef TENON_HOST_PROGRAM_METHOD_CALLER_H
#define TENON_HOST_PROGRAM_METHOD_CALLER_H

#include "host/program/command.h"

struct called;
struct method_caller;

/* An event of a subscription: `params` is borrowed. */
typedef void method_event_fn(void *user, const char *event, tn_value params);

/*
 * Opens the host or the connection. `event` may be NULL: then methods cannot subscribe. Returns COMMAND_OK; on failure
 * prints an error, and returns the exit code. *out must be freed in any case, and may be NULL.
 */
int method_caller_open(struct method_caller **out, const struct arguments *arguments, method_event_fn *event,
                       void *user);
/*
 * With --connect: the host that runs has its own plugins and configuration, so an option for them would be ignored.
 * Prints an error and returns COMMAND_USAGE if there is one.
 */
int method_caller_refuse_host_options(const struct arguments *arguments);
/* Ends the connection, or the host with its runs. NULL is allowed. */
void method_caller_free(struct method_caller *caller);
/* NULL with --connect. */
struct host *method_caller_host(const struct method_caller *caller);
/* The loop of the host or of the connection, for timers. */
struct loop *method_caller_loop(const struct method_caller *caller);
/*
 * The name of a file that the user has given, as the host finds it, a text: with --connect an absolute path, because
 * the host has another working folder. Names such as pack:NAME/FILE stay the same.
 */
tn_value method_caller_path(const struct method_caller *caller, const char *name);
/* Handles signals as command_watch_signals: from then on, a signal ends method_caller_wait and cancels a call. */
void method_caller_watch_signals(struct method_caller *caller);

/*
 * Calls a method, which must exist, and waits for its end; a signal that comes meanwhile cancels it. Takes `params`.
 * *result is a new reference. Returns COMMAND_OK; on failure prints the error, and returns the exit code that
 * method_caller_exit_code has for it.
 */
int method_caller_call_take(struct method_caller *caller, const char *method, tn_value params, tn_value *result);
/* The same; it does not print the error. Returns a status. */
int32_t method_caller_try_take(struct method_caller *caller, const char *method, tn_value params, tn_value *result,
                               struct error *error);
/* Of a failed call: of the command line, of a document, of the store, or of the work. COMMAND_CANCELLED after a signal.
 */
int method_caller_exit_code(const struct error *error);
/* command_report_error; of parameters that do not match their schema, it prints only what is wrong with which of them.
 */
int method_caller_report(int code, const struct error *error);

/* The connection has ended although no signal came. Prints the error, and returns the exit code. */
int method_caller_report_lost(const struct method_caller *caller);

/* ---- Calls that are open while others are made ---- */

struct called *method_caller_begin_take(struct method_caller *caller, const char *method, tn_value params);
bool called_has_ended(void *called); /* for method_caller_wait */
/* Asks for the end, which must still be waited for. */
void called_cancel(struct called *called);
tn_value called_result(const struct called *called);           /* borrowed; NULL if it has failed */
const struct error *called_error(const struct called *called); /* of one that has failed */
/* It must have ended. */
void called_free(struct called *called);

/*
 * Waits until done(user) is true, and returns true; false after a signal (method_caller_watch_signals), if nothing can
 * happen any more, or if the connection has ended. The calls that are open then end with CANCELLED.
 */
bool method_caller_wait(struct method_caller *caller, bool (*done)(void *user), void *user);
/* The same, but not ended by signals: for what ends soon after it was cancelled. */
bool method_caller_wait_for(struct method_caller *caller, bool (*done)(void *user), void *user);

/* One more event of the subscription, which was made with `credit`, may come. */
void method_caller_grant(struct method_caller *caller, int64_t subscription);
/* The subscription has ended, as far as this side can know: only in a host of the command. */
bool method_caller_has_subscription(const struct method_caller *caller, int64_t subscription);

#endif
