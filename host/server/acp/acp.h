/*
 * acp.h - one document as an agent inside an editor: the Agent Client Protocol, version 1, over a stream.
 *
 *     struct acp *acp = acp_new(STDIN_FILENO, STDOUT_FILENO, &(struct acp_options){.server = server,
 *                               .document = "agent.yaml", .closed = ended, .overdue = exit_now, .user = me}, &error);
 *     acp_close(acp);                                // stops the prompts; `closed` or `overdue` follows
 *
 * Messages are JSON-RPC 2.0, one in each line. A session is a thread of the store, and a prompt is a run. All work is
 * done by methods of the table (server/method.h), called in process; this room knows the protocol, and nothing of the
 * engine. README.md has the mapping and the limits.
 *
 * After the end of the input, open requests are answered first, for at most ACP_LINGER_MS. A prompt that is still open
 * then, or at acp_close, is stopped: its run ends after its super-step, and the next prompt of the session continues
 * it.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_ACP_ACP_H
#define TENON_HOST_SERVER_ACP_ACP_H

#include <stdbool.h>
#include <stdint.h>

struct acp;
struct error;
struct server;

#define ACP_VERSION        1
#define ACP_LINGER_MS      10000        /* for open requests after the end of the input; then they are stopped */
#define ACP_STOP_MS        5000         /* from acp_close until `overdue`: runs end after their super-step */
#define ACP_CALL_MS        1000         /* a call of a tool that was not asked for until then is in progress */
#define ACP_SESSIONS_MAX   100u         /* open sessions of one connection */
#define ACP_SERVERS_MAX    16u          /* MCP servers of one session */
#define ACP_BLOCKS_MAX     1000u        /* content blocks of one prompt: acp_params.json has it */
#define ACP_PROMPT_MAX     (16 << 20)   /* bytes of one prompt, approximately */
#define ACP_OUTPUT_MAX     (256u << 10) /* bytes of a tool's output that the client gets; the rest is cut */
#define ACP_PLAN_MAX       200u         /* entries of a plan */
#define ACP_TITLE_MAX      80u          /* bytes of a session's title */
#define ACP_PAGE           50u          /* sessions of one answer to session/list */
#define ACP_CONTEXT_TOKENS 200000       /* the size of usage_update, unless acp_options says another one */

struct acp_options {
    struct server *server;
    const char *document;       /* a file, `pack:NAME/FILE` or `tenon:NAME` */
    const char *channel;        /* the channel of the messages; NULL: `messages` */
    int64_t context_tokens;     /* tokens of the model's context, for usage_update; 0: ACP_CONTEXT_TOKENS */
    bool no_mcp;                /* servers that the client names are not started */
    bool accept_changes;        /* threads continue although the document has changed */
    void (*closed)(void *user); /* the last callback */
    /*
     * A run has not ended within ACP_STOP_MS. The process must exit now, as if it was killed: then the thread of the
     * run is continued by its next prompt. Cancelling the run would make the next prompt discard it.
     */
    void (*overdue)(void *user);
    void *user;
};

/* Takes both descriptors, which may be the same; NULL with IO if one cannot be used. `options` is copied. */
struct acp *acp_new(int input, int output, const struct acp_options *options, struct error *error);
/* Stops the prompts, and refuses all other requests; once they have ended, closes the connection. Repeatable. */
void acp_close(struct acp *acp);

#endif
