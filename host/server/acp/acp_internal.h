/*
 * acp_internal.h - a connection of an editor and its sessions, for the files of this room.
 *
 *     acp.c          the connection: its methods, its end
 *     acp_call.c     calls of methods of the table
 *     acp_session.c  sessions: new, load, resume, list, close, delete
 *     acp_prompt.c   one prompt: a run, or what continues one, until its answer
 *     acp_question.c what a run waits for: approvals, forms, questions in the text
 *     acp_events.c   events of a run as updates
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_ACP_ACP_INTERNAL_H
#define TENON_HOST_SERVER_ACP_ACP_INTERNAL_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/base/loop.h"
#include "host/server/acp/acp.h"

struct acp_call;
struct acp_session;
struct acp_turn;
struct client;
struct peer;
struct peer_request;

/* How prompts become input: a channel of messages, one text of the input, or the whole input as JSON. */
enum acp_input { ACP_INPUT_MESSAGES, ACP_INPUT_TEXT, ACP_INPUT_JSON };

struct acp {
    struct acp_options options;
    char *document, *given_channel; /* of the options; the channel may be NULL */
    char *channel;                  /* of messages, or the member of the input for ACP_INPUT_TEXT */
    enum acp_input input;
    bool removes;     /* the channel of messages accepts the removal of messages */
    bool starting;    /* `initialize` waits for the description of the document */
    bool initialized; /* it was answered */
    bool input_ended, closing;
    struct peer *peer; /* NULL: closed */
    struct client *client;
    tn_value capabilities; /* of the client; NULL when it has sent none */
    tn_value description;  /* of the document; NULL before `initialize` */
    struct acp_session *sessions;
    size_t session_count;
    struct acp_call *calls;
    uint64_t servers_started; /* MCP servers so far: their names differ */
    struct loop_timer linger; /* ACP_LINGER_MS, then ACP_STOP_MS */
    struct loop_work finish;
};

enum acp_mode { ACP_MODE_ASK, ACP_MODE_ALLOW, ACP_MODE_REJECT };

struct acp_session {
    struct acp *acp;
    struct acp_session *next, **link;
    char *id; /* the thread's */
    char *cwd;
    tn_value directories; /* additional ones */
    tn_value title;       /* NULL before the first prompt */
    enum acp_mode mode;
    tn_value roles;              /* {role: the role whose model it uses} */
    tn_value decisions;          /* {tool and caller: true or false}: allow_always, reject_always */
    tn_value servers;            /* its MCP servers: [{name at the plugin, title of the client, prefix of its tools}] */
    tn_value notices;            /* texts that the next prompt says first: servers that cannot be used */
    char *connecting;            /* the run that starts them; NULL when no start is open */
    struct peer_request *opener; /* session/new, load or resume; NULL after its answer */
    bool replays;                /* it sends the conversation first */
    tn_value nested;             /* for the replay: checkpoints of nested runs; NULL when there are none to show */
    /* The thread. */
    bool unfinished;             /* the last turn has not completed */
    bool discards;               /* the next prompt discards it: it was cancelled, or has failed */
    tn_value messages;           /* of the thread, after the last turn; an array */
    tn_value completed;          /* after the last turn that completed */
    tn_value waits;              /* the interrupts that the next prompt answers; NULL when the turn waits for nothing */
    tn_value answers;            /* those that were given already, {id: answer} */
    uint64_t tool_calls;         /* so far */
    tn_value calls;              /* those without a result, {id of the model: …}: acp_tool.c */
    struct acp_turn *turn;       /* the open prompt; NULL between two prompts */
    struct peer_request *ending; /* session/close or session/delete, until the turn has ended; NULL without */
    bool deletes;
};

/* ---- acp_call.c: methods of the table ---- */

/* `result` is borrowed; NULL if the call has failed. It may be called before acp_call_take returns. */
typedef void acp_done(void *user, tn_value result, const struct error *error);
void acp_call_take(struct acp *acp, const char *method, tn_value params, acp_done *done, void *user);
/* Calls of this user have no `done` any more. */
void acp_calls_drop(struct acp *acp, const void *user);

/* ---- acp.c ---- */

/* An answer with -32603, or -32800 for CANCELLED; the code of the error is at the end of the message. */
void acp_fail(struct peer_request *request, const struct error *error);
void acp_notify_take(struct acp *acp, const char *method, tn_value params);
/* {document}, a new object, for methods that have it. */
tn_value acp_document_params(const struct acp *acp);
/* As document/describe returns it: decides how a prompt becomes input. */
void acp_set_description(struct acp *acp, tn_value description);
/* Something has ended: the connection may be closed or freed in the next turn of the loop. */
void acp_look_finished(struct acp *acp);

/* ---- acp_params.c ---- */

/* Refuses the request with -32602 and returns false if its parameters do not match the schema of its method. */
bool acp_params_check(struct peer_request *request);
/* The same for a notification, which cannot be refused. */
bool acp_params_match(const char *method, tn_value params);
/* Members of checked parameters. */
const char *acp_text(tn_value object, const char *name); /* NULL if it is absent or null */
tn_value acp_array(tn_value object, const char *name);   /* a new reference; [] if it is absent */

/* ---- acp_session.c ---- */

void acp_session_new(struct acp *acp, struct peer_request *request);
void acp_session_load(struct acp *acp, struct peer_request *request);   /* and replays it */
void acp_session_resume(struct acp *acp, struct peer_request *request); /* without */
void acp_session_list(struct acp *acp, struct peer_request *request);
void acp_session_close(struct acp *acp, struct peer_request *request);
void acp_session_delete(struct acp *acp, struct peer_request *request);
/* The open session that the parameters name; NULL: the request was refused with -32002. */
struct acp_session *acp_session_of(struct acp *acp, struct peer_request *request);
struct acp_session *acp_session_find(const struct acp *acp, const char *id);
void acp_session_free(struct acp_session *session); /* without a turn */
/* Keeps the messages of a thread's state. `done`: the turn has completed. */
void acp_session_keep(struct acp_session *session, tn_value state, bool done);
/* True if the next prompt continues the last turn. */
bool acp_session_continues(const struct acp_session *session);
/* Its turn has ended: answers session/close and session/delete. */
void acp_session_look_ended(struct acp_session *session);
/* The metadata of its thread: {acp: {cwd, directories?, title?}}. */
tn_value acp_session_metadata(const struct acp_session *session);
/* Sends an update; takes it. `kind` becomes its member `sessionUpdate`. */
void acp_update_take(const struct acp_session *session, const char *kind, tn_value update);
/* The time is now; with the title, if `titled`. */
void acp_session_send_info(const struct acp_session *session, bool titled);

/* ---- acp_replay.c ---- */

/* Sends the conversation of the session as updates. `state` is that of its thread. */
void acp_replay(struct acp_session *session, tn_value state);

/* ---- acp_settings.c: modes, models, commands ---- */

tn_value acp_modes(const struct acp_session *session);          /* {currentModeId, availableModes} */
tn_value acp_config_options(const struct acp_session *session); /* an array */
void acp_set_mode(struct acp *acp, struct peer_request *request);
void acp_set_config_option(struct acp *acp, struct peer_request *request);
tn_value acp_commands(void); /* an array of available commands */
/* Answers the prompt if it is a command such as /state, and returns true. */
bool acp_command_run(struct acp_session *session, struct peer_request *request, tn_value prompt);

/* ---- acp_mcp.c: servers of the client ---- */

/* Starts them, then calls `done`; those that cannot be started are logged, and are notices of the session. */
void acp_servers_start(struct acp_session *session, tn_value servers, void (*done)(struct acp_session *session));
void acp_servers_stop(struct acp_session *session);
/* The connection ends: a start that waits for servers ends soon. */
void acp_servers_cancel(struct acp_session *session);
/* False with INVALID_INPUT if a server has a transport that is not supported, or there are too many. */
bool acp_servers_check(tn_value servers, struct error *error);
/* Patterns of the names of the session's tools; a new reference. */
tn_value acp_servers_tools(const struct acp_session *session);

/* ---- acp_content.c ---- */

/* The content of a message of the user: a text, or parts; a new reference. NULL with the error. */
tn_value acp_content_read(const struct acp *acp, tn_value prompt, struct error *error);
/* All its texts, joined; a new reference. */
tn_value acp_content_text(tn_value content);
/* The text, or its first `most` bytes and a note. Takes the text. */
tn_value acp_text_cut_take(tn_value text, size_t most);
/* {type: text, text} of the protocol. */
tn_value acp_text_block(tn_value text);
/* {sessionUpdate's members} of a text: {content, messageId?}. */
tn_value acp_chunk_take(tn_value text, const char *message_id);
/* The parts of a message's content as content blocks, an array; `thoughts`: only the reasoning, or without it. */
tn_value acp_content_blocks(tn_value content, bool thoughts);

#endif
