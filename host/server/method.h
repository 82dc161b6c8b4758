/*
 * method.h - the method table: everything that a client can ask of a host, one row for each method.
 *
 * The rows are declared in methods/NAME.yaml: name, summary, scope, schemas of parameters and result, errors and an
 * example. The handlers are C functions, in the tables of methods_NAME.c. The reference, the OpenRPC document and the
 * types for clients are generated from the same files, so they cannot differ from what the host accepts.
 *
 *     const struct method *method = method_find("thread/list");
 *     callable = method_call_new(client, method, NULL);                // method_call.h: one call of it
 *
 * The table belongs to the process and does not change. Thread: any.
 */
#ifndef TENON_HOST_SERVER_METHOD_H
#define TENON_HOST_SERVER_METHOD_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

struct authority;
struct buffer;
struct client;
struct method;
struct server;

/* What a client must be allowed to do: `read` is the least, `admin` includes the others. */
enum method_scope { METHOD_READ, METHOD_RUN, METHOD_ADMIN };
#define METHOD_SCOPES 3
const char *method_scope_name(enum method_scope scope); /* "read" */

/*
 * Whether a call for an owner (plugin/call/owner.h) may use a method, because it reaches only what belongs to the
 * owner, or nothing that belongs to users. `owned` of a row; a row without it is closed.
 */
enum method_owned {
    METHOD_CLOSED,
    METHOD_INSIDE, /* `inside`: components of plugins inside of a run of an owner */
    METHOD_OWNED   /* `true` or a scope: also clients with an owner */
};

/* One call of a method, for its handler. Borrowed: it is valid until the handler returns. */
struct method_call {
    struct server *server;
    struct client *client;
    const struct method *method;
    uint64_t token;  /* ends the call: method_done_take, or call_complete and call_fail, from the loop, now or later */
    tn_value params; /* validated, with the defaults of the schema */
    struct authority *authority; /* method_authority */
    const char *owner;           /* of the client, or of the run whose task makes the call; NULL: the operator */
};

/*
 * Starts the work. TN_OK: the call has ended, or will. METHOD_RETRY: see method_wait_for_plugins. Another status: it
 * fails with `error`, and the handler has not ended it. A handler never waits and never runs the loop. [loop]
 */
typedef int32_t method_start_fn(const struct method_call *call, struct error *error);

struct method {
    const char *name, *summary;
    enum method_scope scope, owned_scope; /* owned_scope: for clients with an owner */
    enum method_owned owned;
    tn_value row; /* as declared: summary, description?, scope, owned?, params, result, errors?, example */
    method_start_fn *start;
};

/* NULL if there is no such method. */
const struct method *method_find(const char *name);
/* In the order of the files; NULL past the end. */
const struct method *method_at(size_t index);
/* All names, "host/info|…", for completions. */
const char *method_names(void);
/* Sets NOT_FOUND with the nearest name, and returns TN_NOT_FOUND. */
int32_t method_refuse_unknown(const char *name, struct error *error);

/* An event that clients can receive: a notification. {summary, params}. */
tn_value method_events(void);  /* {name: {summary, params}}, borrowed */
tn_value method_schemas(void); /* {name: schema} that rows refer to as #/components/schemas/NAME, borrowed */

/*
 * The parameters with the defaults of the schema: *out is a new reference. INVALID_INPUT with every violation in its
 * detail.
 */
int32_t method_read_params(const struct method *method, tn_value params, tn_value *out, struct error *error);
/* For tests and for --check-plugins: INVALID_OUTPUT if the result is not what the row declares. */
int32_t method_check_result(const struct method *method, tn_value result, struct error *error);
/* The same for the parameters of an event. */
int32_t method_check_event(const char *name, tn_value params, struct error *error);

/* ---- For handlers ---- */

/* A row of a table of handlers; the name NULL ends it. */
struct method_handler {
    const char *name;
    method_start_fn *start;
};

/* Ends a call with a result, which it takes. */
int32_t method_done_take(const struct method_call *call, tn_value result);
/* The `done` of a request whose `user` is the token (method_user): ends the call. For the store, use method_request.h.
 */
void method_on_stored(void *user, int32_t status, tn_value result, const struct error *error);
void *method_user(const struct method_call *call);

/* Parameters that the schema has checked: the text, or NULL if it is absent or null; the number, or `otherwise`. */
const char *method_text(const struct method_call *call, const char *name);
int64_t method_int(const struct method_call *call, const char *name, int64_t otherwise);
/* The same for validated parameters that are not those of a call. */
int64_t method_params_int(tn_value params, const char *name, int64_t otherwise);
bool method_flag(const struct method_call *call, const char *name);

#endif
