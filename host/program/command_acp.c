/*
 * command_acp.c - `tenon acp`: a document as an agent inside an editor, over stdin and stdout.
 *
 * A document that is missing or has errors is reported as `tenon run` does, before any message is read: an editor shows
 * the standard error of a command that has ended. A document that is edited later is an error of the next request.
 *
 * The first signal stops the prompts, so that they can be continued, and ends the connection. The second one ends the
 * process at once. Standard output has only messages.
 */
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/engine/graph/graph.h"
#include "host/program/command_run.h"
#include "host/server/acp/acp.h"
#include "host/server/server.h"
#include <string.h>
#include <unistd.h>

struct served_agent {
    struct host *host;
    bool closed, overdue;
    bool stops_for_sigterm; /* the first signal was SIGTERM, so the second one is reported as SIGINT */
};

static void agent_on_closed(void *user) {
    struct served_agent *agent = user;
    agent->closed = true;
    loop_wake(host_loop(agent->host));
}

static void agent_on_overdue(void *user) {
    struct served_agent *agent = user;
    agent->overdue = true;
    loop_wake(host_loop(agent->host));
}

static bool agent_must_end(void *user) {
    const struct served_agent *agent = user;
    return agent->closed || agent->overdue || command_got_signal();
}

static bool agent_is_over(void *user) {
    const struct served_agent *agent = user;
    return agent->closed || agent->overdue || (agent->stops_for_sigterm ? command_got_sigint() : command_got_sigterm());
}

/* The threads stay as they are, for the next prompt; host_free would cancel their runs. */
static _Noreturn void agent_exit(int code) {
    command_warn("not all prompts have ended; the next prompt of a session continues its run");
    _exit(code);
}

static int serve_agent(struct served_agent *agent, struct acp_options *options) {
    struct loop *loop = host_loop(agent->host);
    struct error error = ERROR_INIT;
    options->server = server_of(agent->host);
    options->closed = agent_on_closed;
    options->overdue = agent_on_overdue;
    options->user = agent;
    struct acp *acp = acp_new(STDIN_FILENO, STDOUT_FILENO, options, &error);
    if (!acp) {
        int code = command_report_error(COMMAND_RUN_FAILED, &error);
        error_finish(&error);
        return code;
    }
    (void)loop_run(loop, agent_must_end, agent);
    if (agent->closed) return COMMAND_OK;
    if (agent->overdue) agent_exit(COMMAND_OK);
    agent->stops_for_sigterm = command_got_sigterm();
    acp_close(acp);
    (void)loop_run(loop, agent_is_over, agent);
    if (!agent->closed) agent_exit(COMMAND_CANCELLED);
    return COMMAND_CANCELLED;
}

/* COMMAND_OK if a run of the document can start; otherwise the error was printed. The host reads it again later. */
static int check_document(const struct arguments *arguments, struct host *host) {
    int code = COMMAND_OK;
    if (strcmp(operand_at(arguments, 0), "-") == 0)
        return command_report(COMMAND_USAGE, "standard input has the messages of the editor; name the document's file");
    struct graph *graph = command_open_graph(arguments, host, &code);
    if (graph) graph_unref(graph);
    return code;
}

int command_acp(const struct arguments *arguments) {
    struct served_agent agent = {0};
    struct acp_options options = {.document = operand_at(arguments, 0),
                                  .channel = argument_text(arguments, "channel"),
                                  .no_mcp = argument_given(arguments, "no-mcp"),
                                  .accept_changes = argument_given(arguments, "accept-changes")};
    if (!argument_number(arguments, "context", 1, INT32_MAX, ACP_CONTEXT_TOKENS, &options.context_tokens))
        return COMMAND_USAGE;
    if (isatty(STDIN_FILENO)) return command_refuse_terminal("Agent Client Protocol");
    agent.host = command_host(arguments);
    if (!agent.host) return COMMAND_PLUGIN_PROBLEM;
    command_watch_signals(agent.host);
    int code = check_document(arguments, agent.host);
    if (code == COMMAND_OK) code = serve_agent(&agent, &options);
    host_free(agent.host);
    return code;
}
