/*
 * acp_settings.c - what a person chooses for a session: the mode, the models, and commands that begin with a slash.
 *
 * A mode says what happens to approvals. A model is chosen for a role, among the bindings that tenon.yaml and the
 * document have; so a client chooses only what the operator has bound.
 */
#include "adl/document/model_role.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/server/acp/acp_internal.h"
#include "host/server/rpc/rpc_peer.h"
#include <string.h>

#define MODE_OPTION   "mode"
#define OPTION_PREFIX "model."
#define CHOICES_MAX   100u

/* ---- Modes ---- */

static const struct {
    const char *id, *name, *description;
} modes[] = {
    [ACP_MODE_ASK] = {"ask", "Ask", "Asks before a tool that needs approval"},
    [ACP_MODE_ALLOW] = {"allow", "Allow", "Approves every tool that needs approval, without asking"},
    [ACP_MODE_REJECT] = {"reject", "Reject", "Rejects every tool that needs approval, without asking"},
};
#define MODE_COUNT (sizeof modes / sizeof *modes)

tn_value acp_modes(const struct acp_session *session) {
    tn_value list = value_array_reserve(MODE_COUNT);
    for (size_t i = 0; i < MODE_COUNT; i++) {
        tn_value mode = value_set_take(value_object_reserve(3), "id", value_text(modes[i].id));
        mode = value_set_take(mode, "name", value_text(modes[i].name));
        list = value_push_take(list, value_set_take(mode, "description", value_text(modes[i].description)));
    }
    tn_value all = value_set_take(value_object_reserve(2), "currentModeId", value_text(modes[session->mode].id));
    return value_set_take(all, "availableModes", list);
}

static bool choose_mode(struct acp_session *session, const char *id) {
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (strcmp(modes[i].id, id) != 0) continue;
        session->mode = (enum acp_mode)i;
        return true;
    }
    return false;
}

static void send_mode(const struct acp_session *session) {
    tn_value update = value_set_take(value_object_reserve(2), "currentModeId", value_text(modes[session->mode].id));
    acp_update_take(session, "current_mode_update", update);
}

static void send_options(const struct acp_session *session) {
    tn_value options = acp_config_options(session);
    acp_update_take(session, "config_option_update", value_set_take(value_object_reserve(2), "configOptions", options));
}

/* The modes are an option, too: newer clients show only options. */
static tn_value mode_option(const struct acp_session *session) {
    tn_value choices = value_array_reserve(MODE_COUNT), option = value_object_reserve(6);
    for (size_t i = 0; i < MODE_COUNT; i++) {
        tn_value choice = value_set_take(value_object_reserve(3), "value", value_text(modes[i].id));
        choice = value_set_take(choice, "name", value_text(modes[i].name));
        choices = value_push_take(choices, value_set_take(choice, "description", value_text(modes[i].description)));
    }
    option = value_set_take(option, "id", value_text(MODE_OPTION));
    option = value_set_take(option, "name", value_text("Approvals"));
    option = value_set_take(option, "category", value_text("mode"));
    option = value_set_take(option, "type", value_text("select"));
    option = value_set_take(option, "currentValue", value_text(modes[session->mode].id));
    return value_set_take(option, "options", choices);
}

void acp_set_mode(struct acp *acp, struct peer_request *request) {
    const char *id = acp_text(peer_request_params(request), "modeId");
    struct acp_session *session = acp_session_of(acp, request);
    if (!session) return;
    if (choose_mode(session, id)) {
        peer_reply_take(request, value_object());
        send_options(session);
    } else {
        peer_refuse(request, RPC_INVALID_PARAMS, "`modeId`: found `%.100s`, expected ask, allow or reject", id);
    }
}

/* ---- Models ---- */

static void models_on_roles(void *user, tn_value result, const struct error *error) {
    tn_value roles = value_get(result, "roles");
    (void)error;
    *(tn_value *)user = roles ? value_ref(roles) : NULL;
}

/* The text of a binding: of an object its provider and model, of a list that of the first one. A new reference. */
static tn_value model_name_of(tn_value binding, const char *role) {
    binding = model_role_first(binding);
    if (value_is(binding, TN_STRING)) return value_ref(binding);
    const char *provider = value_is(binding, TN_OBJECT) ? acp_text(binding, "provider") : NULL;
    const char *model = provider ? acp_text(binding, "model") : NULL;
    return model ? value_format("%s:%s", provider, model) : value_text(provider ? provider : role);
}

/* {role: text of its binding}: those of the document, replaced by those of tenon.yaml. A new reference. */
static tn_value all_roles(struct acp *acp) {
    tn_value configured = NULL, roles = value_ref(value_get(acp->description, "roles"));
    acp_call_take(acp, "model/list", value_object(), models_on_roles, &configured);
    acp_calls_drop(acp, &configured);
    for (size_t i = 0; i < value_count(configured) && value_count(roles) < CHOICES_MAX; i++) {
        tn_value key = value_key_at(configured, i);
        tn_value text = model_name_of(value_value_at(configured, i), value_chars(key, NULL));
        roles = value_set_key_take(roles, value_ref(key), text);
    }
    value_unref(configured);
    return roles;
}

static tn_value choices_of(tn_value roles) {
    tn_value choices = value_array_reserve(value_count(roles));
    for (size_t i = 0; i < value_count(roles); i++) {
        tn_value role = value_key_at(roles, i);
        tn_value choice = value_set_take(value_object_reserve(3), "value", value_ref(role));
        choice = value_set_take(choice, "name", value_ref(value_value_at(roles, i)));
        choice =
            value_set_take(choice, "description", value_format("the model of the role `%s`", value_chars(role, NULL)));
        choices = value_push_take(choices, choice);
    }
    return choices;
}

/* The roles of the document can be chosen, and `default` if tenon.yaml binds it. */
static bool is_model_option(const struct acp *acp, const char *role) {
    return value_get(value_get(acp->description, "roles"), role) || strcmp(role, "default") == 0;
}

tn_value acp_config_options(const struct acp_session *session) {
    tn_value roles = all_roles(session->acp), options = value_push_take(value_array(), mode_option(session));
    for (size_t i = 0; i < value_count(roles); i++) {
        const char *role = value_chars(value_key_at(roles, i), NULL);
        tn_value chosen = value_get(session->roles, role);
        if (!is_model_option(session->acp, role)) continue;
        bool is_default = strcmp(role, "default") == 0;
        tn_value option = value_set_take(value_object_reserve(6), "id", value_format(OPTION_PREFIX "%s", role));
        option = value_set_take(option, "name", is_default ? value_text("Model") : value_format("Model: %s", role));
        option = value_set_take(option, "category", value_text("model"));
        option = value_set_take(option, "type", value_text("select"));
        option = value_set_take(option, "currentValue", chosen ? value_ref(chosen) : value_text(role));
        options = value_push_take(options, value_set_take(option, "options", choices_of(roles)));
    }
    value_unref(roles);
    return options;
}

/* Returns false with the error if the role cannot be chosen, or there is no such choice. */
static bool choose_model(struct acp_session *session, const char *role, const char *choice, struct error *error) {
    tn_value roles = all_roles(session->acp);
    bool known = is_model_option(session->acp, role) && value_get(roles, role),
         good = known && value_get(roles, choice);
    if (!known)
        error_set(error, TN_INVALID, "INVALID_INPUT", "there is no role `%.100s` to choose a model for", role);
    else if (!good)
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "found `%.100s`, expected a role that tenon.yaml or the document binds", choice);
    else
        session->roles = value_set_take(session->roles, role, value_text(choice));
    value_unref(roles);
    return good;
}

/* Returns false with the error if the option does not exist, or does not have this choice. */
static bool choose_option(struct acp_session *session, const char *id, const char *choice, struct error *error) {
    if (strcmp(id, MODE_OPTION) == 0) {
        if (choose_mode(session, choice)) return true;
        error_set(error, TN_INVALID, "INVALID_INPUT", "found `%.100s`, expected ask, allow or reject", choice);
        return false;
    }
    if (strncmp(id, OPTION_PREFIX, strlen(OPTION_PREFIX)) == 0)
        return choose_model(session, id + strlen(OPTION_PREFIX), choice, error);
    error_set(error, TN_INVALID, "INVALID_INPUT", "`configId`: there is no option `%.100s`", id);
    return false;
}

void acp_set_config_option(struct acp *acp, struct peer_request *request) {
    tn_value params = peer_request_params(request);
    const char *id = acp_text(params, "configId"), *choice = acp_text(params, "value");
    struct acp_session *session = acp_session_of(acp, request);
    struct error error = ERROR_INIT;
    if (!session) return;
    if (!choice) {
        peer_refuse(request, RPC_INVALID_PARAMS, "`value`: found a boolean, expected the value of a choice");
    } else if (choose_option(session, id, choice, &error)) {
        tn_value options = acp_config_options(session);
        peer_reply_take(request, value_set_take(value_object_reserve(1), "configOptions", options));
        if (strcmp(id, MODE_OPTION) == 0) send_mode(session);
    } else {
        peer_refuse(request, RPC_INVALID_PARAMS, "%s", error.message);
    }
    error_finish(&error);
}

/* ---- Commands ---- */

/* A command that is being answered. Its session can be closed meanwhile. */
struct command_call {
    struct acp *acp;
    char *session; /* its id */
    struct peer_request *request;
};

static const struct acp_command {
    const char *name, *description, *hint;
} acp_command_list[] = {
    {"graph", "Draws the graph", NULL},
    {"mode", "Chooses what happens to approvals", "ask, allow or reject"},
    {"model", "Lists the models, or chooses the model of a role", "NAME, or ROLE=NAME; nothing lists them"},
    {"state", "Shows the saved state of this session", NULL},
};
#define COMMAND_COUNT (sizeof acp_command_list / sizeof *acp_command_list)

tn_value acp_commands(void) {
    tn_value list = value_array_reserve(COMMAND_COUNT);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct acp_command *row = &acp_command_list[i];
        tn_value command = value_set_take(value_object_reserve(3), "name", value_text(row->name));
        command = value_set_take(command, "description", value_text(row->description));
        if (row->hint) {
            tn_value input = value_set_take(value_object_reserve(1), "hint", value_text(row->hint));
            command = value_set_take(command, "input", input);
        }
        list = value_push_take(list, command);
    }
    return list;
}

/* Sends the text, and ends the prompt. Takes the text. */
static void answer_command_take(const struct acp_session *session, struct peer_request *request, tn_value text) {
    if (session)
        acp_update_take(session, "agent_message_chunk", acp_chunk_take(text, NULL));
    else
        value_unref(text);
    peer_reply_take(request, value_set_take(value_object_reserve(1), "stopReason", value_text("end_turn")));
}

static void command_on_done(void *user, tn_value result, const struct error *error) {
    struct command_call *call = user;
    tn_value drawing = value_get(result, "drawing"), state = value_get(result, "state"), text;
    char *json = state ? json_text(state, JSON_INDENTED) : NULL;
    tn_value whole = value_text(json ? json : "{}"), shown = acp_text_cut_take(whole, ACP_OUTPUT_MAX);
    if (error)
        text = value_text(error->message);
    else if (drawing)
        text = value_format("```mermaid\n%s\n```", value_chars(drawing, NULL));
    else
        text = value_format("```json\n%s\n```", value_chars(shown, NULL));
    answer_command_take(acp_session_find(call->acp, call->session), call->request, text);
    value_unref(shown);
    mem_free(json);
    mem_free(call->session);
    mem_free(call);
}

static void call_for_command(struct acp_session *session, struct peer_request *request, const char *method,
                             tn_value params) {
    struct command_call *call = mem_zalloc(sizeof *call);
    *call = (struct command_call){session->acp, mem_text(session->id), request};
    acp_call_take(session->acp, method, params, command_on_done, call);
}

static tn_value command_mode(struct acp_session *session, const char *id) {
    if (!choose_mode(session, id)) return value_text("The modes are ask, allow and reject.");
    send_mode(session);
    send_options(session);
    return value_format("The mode is %s now: %s.", modes[session->mode].id, modes[session->mode].description);
}

static const char *chosen_role(const struct acp_session *session, const char *role) {
    const char *chosen = acp_text(session->roles, role);
    return chosen ? chosen : role;
}

/* The roles whose model can be chosen, what they use now, and the choices. A new reference. */
static tn_value models_text(const struct acp_session *session) {
    tn_value roles = all_roles(session->acp);
    struct buffer text;
    buffer_init(&text, ACP_OUTPUT_MAX);
    buffer_text(&text, "The roles, and the models that they use now:\n\n");
    for (size_t i = 0; i < value_count(roles); i++) {
        const char *role = value_chars(value_key_at(roles, i), NULL), *chosen = chosen_role(session, role);
        if (!is_model_option(session->acp, role)) continue;
        buffer_format(&text, "- `%s`: %s", role, acp_text(roles, chosen));
        if (strcmp(chosen, role) != 0) buffer_format(&text, ", the model of `%s`", chosen);
        buffer_char(&text, '\n');
    }
    buffer_text(&text,
                "\nThe models, by their names for `/model NAME` (of the role `default`) and `/model ROLE=NAME`:\n\n");
    for (size_t i = 0; i < value_count(roles); i++) {
        const char *name = value_chars(value_key_at(roles, i), NULL);
        bool current = strcmp(chosen_role(session, "default"), name) == 0;
        buffer_format(&text, "- `%s`: %s%s\n", name, acp_text(roles, name), current ? " (current)" : "");
    }
    tn_value whole = value_string_lossy(buffer_cstr(&text), text.length);
    buffer_finish(&text);
    value_unref(roles);
    return whole;
}

static tn_value command_model(struct acp_session *session, const char *text) {
    if (!*text) return models_text(session);
    const char *equals = strchr(text, '=');
    char *role = equals ? mem_text_n(text, (size_t)(equals - text)) : mem_text("default");
    const char *choice = equals ? equals + 1 : text;
    struct error error = ERROR_INIT;
    bool good = choose_model(session, role, choice, &error);
    tn_value answer =
        good ? value_format("The role `%s` uses the model of `%s` now.", role, choice) : value_text(error.message);
    if (good) send_options(session);
    error_finish(&error);
    mem_free(role);
    return answer;
}

static void run_command(struct acp_session *session, struct peer_request *request, const char *name, const char *text) {
    if (strcmp(name, "graph") == 0) {
        tn_value params = value_set_take(acp_document_params(session->acp), "format", value_text("mermaid"));
        call_for_command(session, request, "document/graph", params);
    } else if (strcmp(name, "state") == 0) {
        tn_value params = value_set_take(value_object_reserve(1), "thread_id", value_text(session->id));
        call_for_command(session, request, "thread/state", params);
    } else {
        bool mode = strcmp(name, "mode") == 0;
        answer_command_take(session, request, mode ? command_mode(session, text) : command_model(session, text));
    }
}

/* Only these names are commands: any other text that begins with a slash is a prompt. */
bool acp_command_run(struct acp_session *session, struct peer_request *request, tn_value prompt) {
    const char *text = value_count(prompt) == 1 ? acp_text(value_at(prompt, 0), "text") : NULL;
    if (!text || text[0] != '/') return false;
    size_t length = strcspn(++text, " \n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *name = acp_command_list[i].name, *rest = text + length;
        if (strlen(name) != length || memcmp(name, text, length) != 0) continue;
        rest += strspn(rest, " \n");
        char *argument = mem_text_n(rest, strcspn(rest, " \n"));
        run_command(session, request, name, argument);
        mem_free(argument);
        return true;
    }
    return false;
}
