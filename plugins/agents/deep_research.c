/*
 * deep_research.c - `deep_research`: work that a service does in the background, as a graph in one node.
 *
 * It generates a document of the nodes `tool`, `ask`, `set` and `fail` and runs it as a nested run:
 *
 *     START -> prepare -> create -> follow, wait -> get -> END
 *                ^           |  \                    |
 *                |           v   +--> confirm        v
 *                +--- next <-+-- plan, act <---------+
 *
 * The tools BACKEND.create, .stream and .get have the contract of plugins/research/research.h. Each step is saved
 * before the next begins: the id of the research before it is waited for, and the last event while it is followed. So a
 * host that is killed continues, and does not pay twice. A guard (plugins/research/guard.h) covers the moment between
 * the request and the answer of `create`: then a person is asked. If the service refuses to create it, the run fails in
 * `create_failed`, and tries again when it is resumed.
 *
 * What the service reports as used counts for the budget of the run (`spent`). If the budget is used up meanwhile,
 * which `budget` finds, the research is cancelled in `stop`, and the run fails in `prepare`; resumed with a
 * larger budget, it starts another one.
 */
#include "agents.h"

#define RESEARCH_POLL_MS         10000 /* between two requests, without a stream */
#define RESEARCH_LEG_MS          30000 /* of a stream, before its last event is saved */
#define RESEARCH_STEPS_MAX       100000
#define RESEARCH_UNCONFIRMED_MAX 3  /* attempts to create a research with `unconfirmed: create` */
#define RESEARCH_CONTINUED_MAX   50 /* works in a row that another one must continue */

struct deep_research {
    uint32_t callee, system, prompt, input, attachments, previous;
    uint32_t output, usage;
    const char *input_name, *form; /* of the output */
    tn_value agent, agent_config, tools;
    bool plan;
};

struct research_task {
    const struct deep_research *node;
    tn_task task;
};

static tn_value section; /* `deep_research` in the plugin's section of tenon.yaml; NULL if there is none */

void deep_research_set_section(tn_value config) {
    tn_release(section);
    section = tn_retain(tn_get(config, "deep_research"));
}

/* ---- The document ---- */

/*
 * The document, in rows; a row with flags is left out without one of these options. @B is the backend, @F the node that
 * waits first, @U the one for a research that may exist, @T how often it is tried again without a question. Single
 * quotes become double ones.
 */
enum { ALWAYS = 0, IF_STREAM = 1, IF_ASK = 2, IF_PLAN = 4, IF_CREATE = 8 };

struct research_row {
    unsigned options;
    const char *text;
};

static const struct research_row research_nodes[] = {
    {ALWAYS, "{'version': '1.0', 'agent': {'name': 'deep_research', 'recursion_limit': @S},"},
    {ALWAYS, "'channels': ["},
    {ALWAYS, " {'name': 'request', 'type': 'last_value'}, {'name': 'next', 'type': 'last_value'},"},
    {ALWAYS, " {'name': 'guard', 'type': 'last_value'}, {'name': 'job', 'type': 'last_value'},"},
    {ALWAYS, " {'name': 'losses', 'type': 'last_value', 'default': 0}, {'name': 'turns', 'type': 'last_value', "
             "'default': 0},"},
    {ALWAYS,
     " {'name': 'leg', 'type': 'last_value', 'default': {'id': ''}}, {'name': 'answer', 'type': 'last_value'}],"},
    {ALWAYS, "'nodes': ["},
    {ALWAYS, " {'id': 'prepare', 'type': 'tool', 'config': {'tool': '@B.create', 'arguments': {'prepare': true},"
             "  'output_key': 'guard'}},"},
    {ALWAYS, " {'id': 'create', 'type': 'tool', 'config': {'tool': '@B.create', 'output_key': 'job', 'arguments': {"
             "  'input': 'state.next.input', 'agent': 'state.request.agent', 'tools': 'state.request.tools',"
             "  'agent_config': 'state.next.planning ? state.request.plan_config : state.request.agent_config',"
             "  'system_instruction': 'state.request.system_instruction',"
             "  'previous_interaction_id': 'state.next.previous', 'results': 'state.next.results',"
             "  'continuation_token': 'state.next.token', 'guard': 'state.guard.guard', 'cancel': true}}},"},
    {ALWAYS, " {'id': 'create_failed', 'type': 'tool', 'config': {'tool': '@B.create', 'output_key': 'guard',"
             "  'arguments': {'prepare': true, 'guard': 'state.guard.guard', 'error': 'state.job.error'}}},"},
    {IF_STREAM,
     /* A stream only shows progress: if it cannot be read, the result can be. */
     " {'id': 'follow', 'type': 'tool', 'retry': @R, 'on_error': {'to': 'wait'}, 'config': {'tool': '@B.stream', "
     "'output_key': 'leg', 'arguments': "
     "{"
     "  'id': 'state.job.id', 'wait_ms': @L, 'messages': true, 'cancel': true, 'counted': true,"
     "  'event_id': 'state.leg.id == state.job.id && has(state.leg.event_id) ? state.leg.event_id : null'}}},"},
    {ALWAYS,
     " {'id': 'wait', 'type': 'tool', 'retry': @R, 'config': {'tool': '@B.get', 'output_key': 'job', 'arguments': {"
     "  'id': 'state.job.id', 'wait_ms': @P, 'interval_ms': @P, 'cancel': true}}},"},
    {IF_STREAM,
     " {'id': 'get', 'type': 'tool', 'retry': @R, 'config': {'tool': '@B.get', 'output_key': 'job', 'arguments': {"
     "  'id': 'state.job.id', 'cancel': true}}},"},
    {ALWAYS, " {'id': 'budget', 'type': 'tool', 'on_error': @O, 'config': {'tool': '@B.create',"
             "  'arguments': {'prepare': true, 'guard': 'state.guard.guard'}}},"},
    {ALWAYS, " {'id': 'stop', 'type': 'tool', 'retry': @R, 'on_error': {'to': 'prepare'}, 'config': {"
             "  'tool': '@B.cancel', 'output_key': 'job', 'arguments': {'id': 'state.job.id'}}},"},
    {IF_ASK,
     " {'id': 'confirm', 'type': 'ask', 'config': {'output_key': 'answer', 'answer_schema': {'type': 'boolean'},"
     "  'question': 'The host stopped, or lost the connection, while it created a research. The research may exist, and"
     " be paid for. Create another one?'}},"},
    {IF_PLAN,
     " {'id': 'plan', 'type': 'ask', 'config': {'output_key': 'answer',"
     "  'question': 'Approve the plan of the research, or say what to change?',"
     "  'detail': '{\"plan\": state.job.text, \"interaction_id\": state.job.id}',"
     "  'answer_schema': {'type': 'object', 'required': ['approved'], 'additionalProperties': false, 'properties': {"
     "   'approved': {'type': 'boolean'}, 'changes': {'type': 'string', 'minLength': 1}}}}},"},
    {ALWAYS,
     " {'id': 'act', 'type': 'ask', 'config': {'output_key': 'answer',"
     "  'question': 'The research needs the results of these calls.',"
     "  'detail': '{\"calls\": has(state.job.calls) ? state.job.calls : [], \"interaction_id\": state.job.id}',"
     "  'answer_schema': {'type': 'object', 'required': ['results'], 'additionalProperties': false, 'properties': {"
     "   'results': {'type': 'array', 'maxItems': 1024, 'items': {'type': 'object', 'required': ['id', 'result'],"
     "    'additionalProperties': false, 'properties': {'id': {'type': 'string'}, 'name': {'type': 'string'},"
     "    'result': {}, 'is_error': {'type': 'boolean'}}}}}}}},"},
    {IF_PLAN, " {'id': 'approved', 'type': 'set', 'config': {'values': {'next': '{\"input\":"
              "  has(state.answer.changes) ? \"The plan is approved. Carry it out, with these changes: \" +"
              "  state.answer.changes : \"The plan is approved. Carry it out.\","
              "  \"previous\": state.job.id, \"results\": null, \"token\": null, \"planning\": false}'}}},"},
    {IF_PLAN, " {'id': 'changed', 'type': 'set', 'config': {'values': {'next': '{\"input\": state.answer.changes,"
              "  \"previous\": state.job.id, \"results\": null, \"token\": null, \"planning\": true}'}}},"},
    {ALWAYS,
     " {'id': 'acted', 'type': 'set', 'config': {'values': {'next': '{\"input\": null, \"previous\": state.job.id,"
     "  \"results\": state.answer.results, \"token\": null, \"planning\": state.next.planning}'}}},"},
    {IF_ASK | IF_PLAN, " {'id': 'refused', 'type': 'fail', 'config': {'code': 'TOOL_DENIED',"
                       "  'message': 'a person has refused to create the research, or its plan'}},"},
    {IF_CREATE, " {'id': 'again', 'type': 'set', 'config': {'values': {'losses': 'state.losses + 1'}}},"},
    {ALWAYS, " {'id': 'continued', 'type': 'set', 'config': {'values': {'turns': 'state.turns + 1', 'next': "
             "'{\"input\": state.next.input,"
             "  \"previous\": state.next.previous, \"results\": state.next.results,"
             "  \"token\": has(state.job.continuation_token) ? state.job.continuation_token : null,"
             "  \"planning\": state.next.planning}'}}}],"},
};

static const struct research_row research_ends[] = {
    {ALWAYS, "{'expression': 'state.job.state == \"requires_action\"', 'to': 'act'},"
             "{'expression': 'state.job.state == \"requires_continuation\" && state.turns < @C', "
             "'to': 'continued'},"},
    {IF_PLAN, "{'expression': 'state.job.state == \"completed\" && state.next.planning', 'to': 'plan'},"},
    {ALWAYS, "{'expression': 'default', 'to': 'END'}"},
};

static const struct research_row research_edges[] = {
    {ALWAYS, "'edges': [{'from': 'START', 'to': 'prepare'}, {'from': 'prepare', 'to': 'create'},"},
    {ALWAYS, " {'from': 'create', 'type': 'conditional', 'conditions': ["
             "  {'expression': 'state.job.state == \"unconfirmed\"@T', 'to': '@U'},"
             "  {'expression': 'state.job.state == \"refused\"', 'to': 'create_failed'},"
             "  {'expression': 'state.job.state == \"running\"', 'to': '@F'}, @E]},"},
    {IF_STREAM,
     " {'from': 'follow', 'type': 'conditional', 'conditions': ["
     "  {'expression': 'state.leg.state != \"running\"', 'to': 'get'},"
     "  {'expression': 'has(state.leg.stalled)', 'to': 'wait'}, {'expression': 'default', 'to': 'follow'}]},"},
    {ALWAYS, " {'from': 'wait', 'type': 'conditional', 'conditions': ["
             "  {'expression': 'state.job.state == \"running\"', 'to': 'budget'}, @E]},"},
    {IF_STREAM, " {'from': 'get', 'type': 'conditional', 'conditions': ["
                "  {'expression': 'state.job.state == \"running\"', 'to': 'wait'}, @E]},"},
    {IF_ASK, " {'from': 'confirm', 'type': 'conditional', 'conditions': ["
             "  {'expression': 'state.answer', 'to': 'prepare'}, {'expression': 'default', 'to': 'refused'}]},"},
    {IF_PLAN,
     " {'from': 'plan', 'type': 'conditional', 'conditions': ["
     "  {'expression': 'state.answer.approved', 'to': 'approved'},"
     "  {'expression': 'has(state.answer.changes)', 'to': 'changed'}, {'expression': 'default', 'to': 'refused'}]},"},
    {IF_PLAN, " {'from': 'approved', 'to': 'prepare'}, {'from': 'changed', 'to': 'prepare'},"},
    {ALWAYS, " {'from': 'create_failed', 'to': 'create'}, {'from': 'budget', 'to': 'wait'},"},
    {ALWAYS, " {'from': 'stop', 'type': 'conditional', 'conditions': ["
             "  {'expression': 'state.job.state == \"completed\"', 'to': 'END'},"
             "  {'expression': 'default', 'to': 'prepare'}]},"},
    {IF_CREATE, " {'from': 'again', 'to': 'prepare'},"},
    {ALWAYS, " {'from': 'act', 'to': 'acted'}, {'from': 'acted', 'to': 'prepare'},"},
    {IF_ASK | IF_PLAN, " {'from': 'refused', 'to': 'END'},"},
    {ALWAYS, " {'from': 'continued', 'to': 'prepare'}]}"},
};

struct research_names {
    unsigned options;
    const char *backend, *first, *unconfirmed;
    int64_t poll_ms;
};

/* JSON has double quotes, and the expressions inside of its texts escaped ones: the templates above are readable. */
static void research_append(struct tn_text_buffer *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            (void)tn_text_append_char(out, '"');
        else if (*text == '"')
            (void)tn_text_append(out, "\\\"");
        else
            (void)tn_text_append_char(out, *text);
    }
}

static void research_fill(struct tn_text_buffer *out, const struct research_row *rows, size_t count,
                          const struct research_names *names);

static void research_append_value(struct tn_text_buffer *out, char letter, const struct research_names *names) {
    switch (letter) {
    case 'B': (void)tn_text_append(out, names->backend); break;
    case 'F': (void)tn_text_append(out, names->first); break;
    case 'U': (void)tn_text_append(out, names->unconfirmed); break;
    case 'C': (void)tn_text_append_format(out, "%d", RESEARCH_CONTINUED_MAX); break;
    case 'T':
        if (names->options & IF_CREATE)
            (void)tn_text_append_format(out, " && state.losses < %d", RESEARCH_UNCONFIRMED_MAX - 1);
        break;
    case 'P': (void)tn_text_append_format(out, "%lld", (long long)names->poll_ms); break;
    case 'L': (void)tn_text_append_format(out, "%d", RESEARCH_LEG_MS); break;
    case 'S': (void)tn_text_append_format(out, "%d", RESEARCH_STEPS_MAX); break;
    case 'O': research_append(out, "{'to': 'stop', 'codes': ['BUDGET_EXCEEDED']}"); break;
    case 'R': research_append(out, "{'max_attempts': 6, 'initial': '500ms', 'factor': 2, 'max': '60s'}"); break;
    default: research_fill(out, research_ends, sizeof research_ends / sizeof *research_ends, names); break;
    }
}

static void research_fill(struct tn_text_buffer *out, const struct research_row *rows, size_t count,
                          const struct research_names *names) {
    for (size_t i = 0; i < count; i++) {
        if (rows[i].options != ALWAYS && (rows[i].options & names->options) == 0) continue;
        for (const char *at = rows[i].text; *at != '\0'; at++) {
            char piece[2] = {*at, '\0'};
            if (*at == '@')
                research_append_value(out, *++at, names);
            else
                research_append(out, piece);
        }
    }
}

static tn_value research_build_document(const struct research_names *names) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(0);
    research_fill(&text, research_nodes, sizeof research_nodes / sizeof *research_nodes, names);
    research_fill(&text, research_edges, sizeof research_edges / sizeof *research_edges, names);
    tn_value document = tn_from_json(tn_text_chars(&text), text.length);
    tn_text_free(&text);
    return document;
}

/* ---- Create ---- */

/* A member of the configuration, or else of the operator's section. */
static tn_value research_setting(tn_value config, const char *name) {
    tn_value value = tn_get(config, name);
    return value != NULL ? value : tn_get(section, name);
}

static const char *research_text_setting(tn_value config, const char *name, const char *fallback) {
    const char *text = tn_chars(research_setting(config, name), NULL);
    return text != NULL ? text : fallback;
}

static bool research_flag(tn_value config, const char *name, bool fallback) {
    int32_t truth = fallback;
    (void)tn.value->as_bool(research_setting(config, name), &truth);
    return truth != 0;
}

static int32_t research_bind(struct deep_research *node, tn_value config, tn_binder *binder) {
    struct research_names names = {.backend = research_text_setting(config, "backend", "interactions")};
    int64_t poll_ms = RESEARCH_POLL_MS;
    (void)tn.value->as_int(research_setting(config, "poll_interval_ms"), &poll_ms);
    names.poll_ms = poll_ms;
    bool streams = research_flag(config, "stream", true);
    bool asks = strcmp(research_text_setting(config, "unconfirmed", "ask"), "create") != 0;
    names.options = (streams ? IF_STREAM : 0u) | (asks ? IF_ASK : IF_CREATE) | (node->plan ? IF_PLAN : 0u);
    names.first = streams ? "follow" : "wait";
    names.unconfirmed = asks ? "confirm" : "again";
    if (node->plan && strcmp(names.backend, "responses") == 0)
        return tn_refuse_at(
            "/approve_plan", "INVALID_CONFIG",
            "`approve_plan` is not possible with the backend `responses`, whose service makes no plans: "
            "remove it, or use the backend `interactions`");
    int32_t status = agents_require_graph();
    if (status == TN_OK) status = agents_bind_template(config, "system_prompt", binder, &node->system);
    if (status == TN_OK) status = agents_bind_template(config, "prompt", binder, &node->prompt);
    if (status == TN_OK) status = agents_bind_template(config, "previous_interaction_id", binder, &node->previous);
    if (status == TN_OK) status = agents_bind_read(config, "input_key", binder, &node->input);
    if (status == TN_OK) status = agents_bind_read(config, "attachments_key", binder, &node->attachments);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &node->output);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &node->usage);
    if (status != TN_OK) return status;
    tn_value document = research_build_document(&names);
    status = document != NULL ? agents_graph->bind_value(binder, document, "deep_research", TN_Z, &node->callee)
                              : TN_NO_MEMORY;
    tn_release(document);
    return status;
}

static int32_t research_create(tn_value config, tn_binder *binder, void **self) {
    struct deep_research *node = agents_alloc_zeroed(sizeof *node);
    if (node == NULL) return TN_NO_MEMORY;
    node->input_name = tn_get_text(config, "input_key", "prompt");
    node->form = tn_get_text(config, "output", "result");
    node->agent = research_setting(config, "agent");
    node->agent_config = research_setting(config, "agent_config");
    node->tools = research_setting(config, "tools");
    node->plan = research_flag(config, "approve_plan", false);
    int32_t status = research_bind(node, config, binder);
    if (status == TN_OK)
        *self = node;
    else
        agents_release(node);
    return status;
}

/* ---- The request ---- */

static bool research_has_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

/* A member of the input, if that is an object, or else the node's. A new reference; NULL if there is none. */
static tn_value research_choose(tn_value input, const char *name, tn_value own) {
    tn_value value = tn.value->kind(input) == TN_OBJECT ? tn_get(input, name) : NULL;
    if (tn.value->kind(value) <= TN_NULL) value = own;
    return value != NULL ? tn_retain(value) : tn_null();
}

/* Renders a template that may be absent; an empty text counts as absent. Returns false if the task has failed. */
static bool research_render(tn_task task, uint32_t template_index, tn_value *out) {
    *out = NULL;
    if (template_index == TN_UNBOUND) return true;
    tn_value text = tn_render(task, template_index, NULL);
    if (text == NULL) return false;
    if (research_has_text(text))
        *out = text;
    else
        tn_release(text);
    return true;
}

/* What a task was given; each may be NULL. */
struct research_given {
    tn_value input, query, attachments, system, previous;
};

/* The attachments of the input, or of the node's channel. Returns false if the task has failed: without them, the
 * research would be paid for in vain. */
static bool research_find_attachments(const struct deep_research *node, tn_task task, struct research_given *given) {
    tn_value own = node->attachments != TN_UNBOUND ? tn_read(task, node->attachments) : NULL;
    tn_value found = given->attachments = research_choose(given->input, "attachments", own);
    uint64_t count = tn.value->kind(found) == TN_ARRAY ? tn.value->count(found) : 0;
    bool fits = tn.value->kind(found) <= TN_NULL || tn.value->kind(found) == TN_ARRAY;
    for (uint64_t i = 0; fits && i < count; i++) fits = tn.value->kind(tn.value->at(found, i)) == TN_OBJECT;
    tn_release(own);
    if (!fits)
        (void)agents_fail(task, "INVALID_INPUT", NULL,
                          "the attachments of the research are not a list of parts, such as {type: file, media_type, "
                          "data}");
    return fits;
}

/* The query, alone or with the attachments. Takes `query`. */
static tn_value research_join_take(tn_value query, tn_value attachments) {
    tn_value list = NULL;
    if (tn.value->kind(attachments) != TN_ARRAY || tn.value->count(attachments) == 0) return query;
    (void)tn_append_take(&list, tn_build("{s:s,s:V}", "type", "text", "text", query));
    for (uint64_t i = 0, count = tn.value->count(attachments); i < count; i++)
        (void)tn_append_take(&list, tn_retain(tn.value->at(attachments, i)));
    return list;
}

static tn_value research_plan_config(tn_value config, bool planning) {
    tn_value base = tn.value->kind(config) == TN_OBJECT ? tn_retain(config) : tn_build("{}");
    return tn_set_take(base, "collaborative_planning", tn_bool(planning));
}

/* The input of the nested run, a new reference. NULL if memory runs out. */
static tn_value research_build_input(const struct deep_research *node, const struct research_given *given) {
    tn_value config = research_choose(given->input, "agent_config", node->agent_config);
    tn_value before = research_choose(given->input, "previous_interaction_id", given->previous);
    tn_value input = research_join_take(tn_retain(given->query), given->attachments), plan = NULL;
    if (node->plan) {
        plan = research_plan_config(config, true);
        tn_value carry_out = research_plan_config(config, false);
        tn_release(config);
        config = carry_out;
    }
    tn_value request =
        tn_build("{s:V,s:v,s:V?,s:V,s:v?}", "agent", research_choose(given->input, "agent", node->agent),
                 "agent_config", config, "plan_config", plan, "tools",
                 research_choose(given->input, "tools", node->tools), "system_instruction", given->system);
    tn_value next = tn_build("{s:v,s:v,s:n,s:n,s:b}", "input", input, "previous", before, "results", "token",
                             "planning", node->plan);
    tn_release(config);
    tn_release(before);
    tn_release(input);
    return tn_build("{s:V,s:V}", "request", request, "next", next);
}

/* Returns the query of the input: a text, a DeepResearchInput, or a message. A new reference; NULL if the task failed.
 */
static tn_value research_find_query(const struct deep_research *node, tn_task task, tn_value given) {
    tn_value query = tn.value->kind(given) == TN_STRING ? tn_retain(given) : tn_retain(tn_get(given, "query"));
    if (query == NULL && tn.value->kind(given) == TN_OBJECT && tn_get(given, "content") != NULL)
        query = tn_content_text(tn_get(given, "content"));
    if (research_has_text(query)) return query;
    tn_release(query);
    (void)agents_fail(task, "INVALID_INPUT", NULL,
                      "the research has no question: `%.80s` has no text; expected a text, or {query, agent?, "
                      "agent_config?, tools?, attachments?, previous_interaction_id?}",
                      node->input_name);
    return NULL;
}

/* ---- The result ---- */

/* DeepResearchOutput. */
static tn_value research_output(tn_value job) {
    static const char *const same[] = {"text",  "status", "state", "sources",           "message",
                                       "usage", "steps",  "error", "continuation_token"};
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put(out, "interaction_id", tn_get(job, "id"));
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (tn_get(job, same[i]) != NULL) tn_put(out, same[i], tn_get(job, same[i]));
    tn.value->end(out);
    return tn_finish(out);
}

static int32_t research_write(const struct research_task *state, tn_value job) {
    const struct deep_research *node = state->node;
    int32_t status = TN_OK;
    if (node->output != TN_UNBOUND && strcmp(node->form, "result") == 0)
        status = tn_write_take(state->task, node->output, research_output(job));
    else if (node->output != TN_UNBOUND)
        status = tn_write(state->task, node->output, tn_get(job, node->form));
    if (status == TN_OK && node->usage != TN_UNBOUND && tn_get(job, "usage") != NULL)
        status = tn_write(state->task, node->usage, tn_get(job, "usage"));
    return status;
}

/* Fails the task with what the service says about its work. */
static void research_fail_job(tn_task task, tn_value job) {
    static const char *const codes[][2] = {{"budget_exceeded", "BUDGET_EXCEEDED"}, {"cancelled", "CANCELLED"}};
    const char *state = tn_get_text(job, "state", "failed"), *code = "FAILED";
    tn_value error = tn_get(job, "error");
    const char *reason =
        tn.value->kind(error) == TN_STRING ? tn_chars(error, NULL) : tn_get_text(error, "message", NULL);
    if (reason == NULL) reason = tn_get_text(error, "code", "it reports no reason");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i][0], state) == 0) code = codes[i][1];
    /* What it had written until then was paid for. */
    bool partial = research_has_text(tn_get(job, "text"));
    tn_value detail =
        tn_build("{s:v,s:v,s:v*,s:v*,s:v*,s:v*}", "interaction_id", tn_get(job, "id"), "status", tn_get(job, "status"),
                 "error", error, "usage", tn_get(job, "usage"), "text", partial ? tn_get(job, "text") : NULL, "sources",
                 partial ? tn_get(job, "sources") : NULL);
    if (strcmp(state, "unconfirmed") == 0)
        (void)agents_fail(task, code, detail,
                          "%d times it was not known whether the research was created, so it may exist, and be paid "
                          "for: %.600s",
                          RESEARCH_UNCONFIRMED_MAX, reason);
    else if (strcmp(state, "requires_continuation") == 0)
        (void)agents_fail(task, code, detail,
                          "the service has asked %d times to continue the research, and expects more",
                          RESEARCH_CONTINUED_MAX + 1);
    else
        (void)agents_fail(task, code, detail, "the research ended as `%.40s` at the service: %.600s",
                          tn_get_text(job, "status", state), reason);
    tn_release(detail);
}

static int32_t research_on_result(void *user, int32_t status, tn_value result) {
    struct research_task *state = user;
    tn_task task = state->task;
    tn_value job = tn_get(result, "job");
    const char *word = tn_get_text(job, "state", "");
    if (status != TN_OK) {
        (void)agents_fail_with(task, status, result);
    } else if (strcmp(word, "completed") != 0 && strcmp(word, "incomplete") != 0) {
        research_fail_job(task, job);
    } else {
        status = research_write(state, job);
        if (status == TN_OK)
            (void)tn_done(task);
        else
            (void)agents_fail(task, "CHANNEL", NULL, "a channel did not accept the result of the research (status %d)",
                              (int)status);
    }
    agents_release(state);
    return TN_OK;
}

/* ---- Start ---- */

static int32_t research_call(const struct deep_research *node, tn_task task, tn_value inner) {
    struct research_task *state = agents_alloc_zeroed(sizeof *state);
    if (state == NULL || inner == NULL) {
        if (state != NULL) agents_release(state);
        return TN_NO_MEMORY;
    }
    state->node = node;
    state->task = task;
    int32_t status = tn.task->call(task, node->callee, inner, NULL, research_on_result, state, NULL);
    if (status != TN_OK) agents_release(state);
    return status;
}

static int32_t research_start(void *self, tn_task task, tn_value input) {
    const struct deep_research *node = self;
    struct research_given given = {0};
    int32_t status = TN_FAILED;
    (void)input;
    bool ok = node->prompt == TN_UNBOUND || (given.input = tn_render(task, node->prompt, NULL)) != NULL;
    if (ok && node->input != TN_UNBOUND) given.input = tn_read(task, node->input);
    if (ok) ok = (given.query = research_find_query(node, task, given.input)) != NULL;
    if (ok) ok = research_render(task, node->system, &given.system);
    if (ok) ok = research_render(task, node->previous, &given.previous);
    if (ok) ok = research_find_attachments(node, task, &given);
    if (ok) {
        tn_value inner = research_build_input(node, &given);
        status = research_call(node, task, inner);
        tn_release(inner);
    }
    tn_value owned[] = {given.input, given.query, given.attachments, given.system, given.previous};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) tn_release(owned[i]);
    return status;
}

TN_COMPONENT(deep_research, "deep_research", research_create, research_start, NULL, NULL, agents_release)
