/*
 * response.c - the responses that are known, their events, and the clients that follow them.
 */
#include "response.h"

/* ---- The table ---- */

struct response *response_new(struct exchange *exchange, const char *id, const char *model, tn_value echo, bool store) {
    struct openai *openai = exchange->openai;
    struct response *response = openai->running < RESPONSES_MAX ? serving_alloc(sizeof *response) : NULL;
    if (response == NULL) return NULL;
    response->openai = openai;
    response->owner = serving_text_copy(exchange->owner);
    response->caller = exchange->caller;
    response->store = store;
    response->log = tn_build("[]");
    bool opened = response_events_open(&response->events, id, model, echo);
    response->next = openai->responses;
    openai->responses = response;
    openai->running++;
    if (opened && response->owner != NULL && response->log != NULL) return response;
    response_free(response);
    return NULL;
}

struct response *response_find(const struct exchange *exchange, const char *id) {
    struct response *response = exchange->openai->responses;
    while (response != NULL && (strcmp(response->events.id, id) != 0 || strcmp(response->owner, exchange->owner) != 0))
        response = response->next;
    return response;
}

static void response_unlink(struct response *response) {
    struct response **at = &response->openai->responses;
    while (*at != response) at = &(*at)->next;
    *at = response->next;
    if (response->ended)
        response->openai->ended--;
    else
        response->openai->running--;
}

static void follower_remove(struct follower *follower) {
    struct follower **at = &follower->response->followers;
    while (*at != follower) at = &(*at)->next;
    *at = follower->next;
    follower->exchange->object = NULL;
    follower->exchange->on_event = NULL;
    serving_free(follower);
}

void response_free(struct response *response) {
    while (response->followers != NULL) follower_remove(response->followers);
    response_unlink(response);
    serving_run_close(response->run);
    serving_items_free(response->items);
    response_events_close(&response->events);
    response->openai->log_size -= response->log_size;
    tn_release(response->before);
    tn_release(response->log);
    serving_free(response->owner);
    serving_free(response);
}

void responses_free(struct openai *openai) {
    while (openai->responses != NULL) response_free(openai->responses);
}

/* Those that have ended are kept for a while, the stored ones. */
static void response_note_ended(struct response *response, tn_value report) {
    struct openai *openai = response->openai;
    struct response *oldest = NULL;
    const char *code = tn_get_text(tn_get(report, "error"), "code", "");
    response->unsaved = strncmp(code, "STORE_", 6) == 0 || strcmp(code, "FENCED") == 0 || strcmp(code, "OWNED") == 0;
    if (!response->ended) {
        response->ended = true;
        openai->running--;
        openai->ended++;
    }
    for (struct response *other = openai->responses; other != NULL; other = other->next)
        if (other->ended && other->followers == NULL && other != response) oldest = other;
    if (openai->ended > ENDED_MAX && oldest != NULL) response_free(oldest);
}

/* Frees a response that is of no use any more. */
static void response_look_unused(struct response *response) {
    if (response->followers != NULL) return;
    bool known = response->store && !response->unsaved && response_events_ended(&response->events);
    if (response->ended && !known)
        response_free(response);
    else if (!response->ended && !response->store && response->run != NULL)
        serving_run_cancel(response->run);
}

/* ---- Followers ---- */

static const tn_server_draft *server_of(const struct response *response) { return response->openai->serving.server; }

/* The run waits for the client that has started it, unless it runs in the background. */
static void response_look_full(struct response *response) {
    bool full = false;
    for (const struct follower *follower = response->followers; follower != NULL; follower = follower->next)
        full |= follower->first && follower->full;
    if (response->run == NULL || response->ended) return;
    if (full && !response->events.background)
        serving_run_pause(response->run);
    else
        serving_run_flow(response->run);
}

/* With another number. New. */
static tn_value entry_numbered(tn_value entry, uint64_t number) {
    uint64_t length = 0;
    tn_value data = tn_get(entry, "data");
    const char *json = tn_chars(data, &length);
    tn_value event = json != NULL ? tn_from_json(json, length) : tn_retain(data);
    event = tn_set_take(event, "sequence_number", tn_int((int64_t)number));
    return tn_build("{s:v, s:V}", "event", tn_get(entry, "event"), "data", event);
}

static void send_entry(struct follower *follower, tn_value entry) {
    tn_value sent =
        follower->shift > 0 ? entry_numbered(entry, follower->position + follower->shift) : tn_retain(entry);
    if (sent != NULL &&
        server_of(follower->response)->event(tn.host, follower->exchange->number, sent) == TN_SERVER_FULL)
        follower->full = true;
    tn_release(sent);
    follower->position++;
}

static void begin_stream(struct follower *follower) {
    tn_value begin = tn_build("{s:i, s:s}", "status", 200, "stream", "events");
    (void)server_of(follower->response)->respond(tn.host, follower->exchange->number, begin);
    tn_release(begin);
    follower->begun = true;
}

/* Sends what the client has room for. Frees the follower at the end. */
static void pump_stream(struct follower *follower) {
    struct response *response = follower->response;
    uint64_t count = tn.value->count(response->log);
    if (!response->started) return;
    if (!follower->begun) begin_stream(follower);
    if (follower->position < response->log_first) {
        (void)server_of(response)->abort(tn.host, follower->exchange->number);
        follower_remove(follower);
        return;
    }
    while (!follower->full && follower->position < response->log_first + count)
        send_entry(follower, tn.value->at(response->log, follower->position - response->log_first));
    if (follower->full || !response->ended) return;
    (void)server_of(response)->finish(tn.host, follower->exchange->number);
    follower_remove(follower);
}

static void pump(struct follower *follower) {
    struct response *response = follower->response;
    if (follower->streams) {
        pump_stream(follower);
    } else if (response->ended || (follower->first && response->started && response->events.background)) {
        exchange_reply(follower->exchange, 200, response_events_value(&response->events));
        follower_remove(follower);
    }
}

static void pump_all(struct response *response) {
    for (struct follower *follower = response->followers, *next; follower != NULL; follower = next) {
        next = follower->next;
        pump(follower);
    }
    response_look_full(response);
}

static void follower_event(struct exchange *exchange, int32_t event) {
    struct follower *follower = exchange->object;
    struct response *response = follower->response;
    if (event == TN_SERVER_ROOM) {
        follower->full = false;
        pump(follower);
    } else if (event == TN_SERVER_CLOSED) {
        follower_remove(follower);
    } else if (event == TN_SERVER_DRAIN && response->store && follower->begun) {
        (void)server_of(response)->finish(tn.host, exchange->number); /* the client continues with starting_after */
        follower_remove(follower);
    }
    response_look_full(response);
    response_look_unused(response);
}

/*
 * The place in the log of a client that has read `count` events of another process. Items and their texts are the same,
 * but a text came in more pieces then: each of its characters may have been an event. Only what the client has for
 * certain is left out, so it may get a complete item again, but it misses nothing.
 */
static uint64_t place_again(const struct response *response, uint64_t count) {
    uint64_t most = 0, place = 0;
    for (uint64_t i = 0, end = tn.value->count(response->log); i < end; i++) {
        tn_value entry = tn.value->at(response->log, i);
        most += (uint64_t)tn_get_int(entry, "characters", 1);
        if (most > count) break;
        if (!serving_true(tn_get(entry, "inside"))) place = i + 1;
    }
    return place;
}

/* Sets the place in the log of a client that expects the event of the number `position`. */
static void place_follower(struct response *response, struct follower *follower) {
    uint64_t expects = follower->position, end = response->log_first + tn.value->count(response->log);
    if (response->again && response->log_first == 0 && expects > 0) {
        bool knows = response->shift_from > 0 && expects >= response->shift_from && expects - response->shift <= end;
        if (!knows) {
            response->shift_from = expects;
            response->shift = expects - place_again(response, expects);
        }
        follower->shift = response->shift;
        follower->position = expects - response->shift;
    }
    if (follower->position < response->log_first) follower->position = response->log_first;
    if (response->ended && end > 0 && follower->position >= end) {
        follower->position = end - 1;
        follower->shift = expects - follower->position;
    }
}

bool response_follow(struct response *response, struct exchange *exchange, bool streams, uint64_t position,
                     bool first) {
    struct follower *follower = serving_alloc(sizeof *follower);
    if (follower == NULL) return false;
    *follower = (struct follower){.next = response->followers,
                                  .exchange = exchange,
                                  .response = response,
                                  .position = position,
                                  .streams = streams,
                                  .first = first};
    place_follower(response, follower);
    response->followers = follower;
    exchange->object = follower;
    exchange->on_event = follower_event;
    pump(follower);
    return true;
}

/* ---- Events ---- */

/* Roughly what an entry of the log needs. */
static uint64_t entry_size(tn_value entry) {
    uint64_t length = 0;
    tn_value data = tn_get(entry, "data");
    if (tn_chars(data, &length) == NULL) (void)tn_chars(tn_get(data, "delta"), &length);
    return 512 + length;
}

/*
 * The event as the server sends it, {event, data}. The data are JSON as a text, because its size is needed: that of a
 * delta is known without it. If another process has sent events of this response, place_again also needs {characters of
 * the delta, inside an item}. New.
 */
static tn_value entry_new(tn_value event, bool again) {
    tn_value type = tn_get(event, "type");
    const char *delta = tn_get_text(event, "delta", NULL);
    tn_value data = delta != NULL ? tn_retain(event) : tn_to_json(event);
    if (!again) return tn_build("{s:v, s:V}", "event", type, "data", data);
    uint64_t characters = 0;
    for (; delta != NULL && *delta != '\0'; delta++) characters += ((unsigned char)*delta & 0xc0) != 0x80;
    bool inside = tn_get(event, "output_index") != NULL && !serving_is(type, "response.output_item.done");
    return tn_build("{s:v, s:V, s:I, s:b}", "event", type, "data", data, "characters",
                    (int64_t)(characters > 1 ? characters : 1), "inside", (int)inside);
}

static void log_add(struct response *response, int64_t size) {
    response->log_size += (uint64_t)size;
    response->openai->log_size += (uint64_t)size;
}

static void log_trim(struct response *response) {
    uint64_t count = tn.value->count(response->log), cut = count / 2;
    uint64_t most = response->openai->log_size > LOGS_MAX ? LOG_LEAST : LOG_MAX;
    if (response->log_size <= most || cut == 0) return;
    for (uint64_t i = 0; i < cut; i++) log_add(response, -(int64_t)entry_size(tn.value->at(response->log, i)));
    if (tn.value->splice(&response->log, 0, cut, NULL) == TN_OK) response->log_first += cut;
}

/* Of a response that cannot be asked for later, only a client that follows its events needs them. */
static bool response_keeps_events(const struct response *response) {
    bool streams = response->store;
    for (const struct follower *at = response->followers; at != NULL; at = at->next) streams |= at->streams;
    return streams;
}

static void on_event(void *user, tn_value event) {
    struct response *response = user;
    if (!response_keeps_events(response)) {
        response->log_first++;
        return;
    }
    tn_value entry = entry_new(event, response->again);
    int64_t size = (int64_t)entry_size(entry);
    if (tn_append_take(&response->log, entry) == TN_OK) log_add(response, size);
    for (struct follower *follower = response->followers, *next; follower != NULL; follower = next) {
        next = follower->next;
        if (follower->streams) pump_stream(follower);
    }
    log_trim(response);
    response_look_full(response);
}

/* ---- The run ---- */

static void on_started(void *user, const char *run_id) {
    struct response *response = user;
    (void)run_id;
    response->started = true;
    response_events_begin(&response->events);
    serving_items_before(response->items, response->before);
    pump_all(response);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct response *response = user;
    (void)seq;
    if (missed > 0) serving_items_missed(response->items);
    serving_items_event(response->items, event);
}

/* The run could not be started: the clients get the error. */
static void refuse_all(struct response *response, tn_value of) {
    struct openai_error error = {0};
    openai_error_of(&error, of);
    while (response->followers != NULL) {
        exchange_refuse(response->followers->exchange, &error);
        follower_remove(response->followers);
    }
    response_free(response);
}

/* The host ends, and the run can be continued: no client waits for it in this process. */
static void stop_all(struct response *response) {
    struct openai_error error = {.status = 503, .type = "server_error", .code = "service_unavailable"};
    (void)snprintf(error.text, sizeof error.text, "the server is about to end; GET the response later to continue it");
    while (response->followers != NULL) {
        struct follower *follower = response->followers;
        if (follower->begun)
            (void)server_of(response)->finish(tn.host, follower->exchange->number);
        else
            exchange_refuse(follower->exchange, &error);
        follower_remove(follower);
    }
    response_free(response);
}

static void on_run_end(void *user, tn_value report) {
    struct response *response = user;
    if (!response->started) {
        refuse_all(response, tn_get(report, "error"));
        return;
    }
    serving_items_end(response->items, report);
    if (!response_events_ended(&response->events)) {
        stop_all(response);
        return;
    }
    response_note_ended(response, report);
    pump_all(response);
    response_look_unused(response);
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static bool response_open_items(struct response *response, const struct serving_graph *graph, const char *last_input,
                                tn_value tool_names, tn_value asked) {
    struct serving_items_options options = {.graph = graph,
                                            .last_input = last_input,
                                            .client_tools = tool_names,
                                            .asked = asked,
                                            .handler = response_events_item,
                                            .user = &response->events};
    response->events.handler = on_event;
    response->events.user = response;
    response->items = serving_items_new(&options);
    return response->items != NULL;
}

bool response_follow_run(struct response *response, const struct serving_graph *graph,
                         const struct openai_request *request, const char *run_id) {
    if (response_open_items(response, graph, request->last_input, request->tool_names, NULL))
        response->run =
            serving_run_follow(&response->openai->serving, response->caller, run_id, 0, &run_handler, response);
    return response->run != NULL;
}

bool response_run(struct response *response, const struct serving_graph *graph, const struct openai_request *request,
                  const char *method, tn_value params) {
    if (response_open_items(response, graph, request->last_input, request->tool_names, request->asked))
        response->run =
            serving_run_start(&response->openai->serving, response->caller, method, params, &run_handler, response);
    else
        tn_release(params);
    return response->run != NULL;
}

void response_replay(struct response *response, const struct serving_graph *graph, const char *last_input,
                     tn_value messages, tn_value report) {
    tn_value writes = messages != NULL && graph->channel != NULL
                          ? tn_set_take(tn_build("{}"), graph->channel, tn_retain(messages))
                          : NULL;
    if (!response_open_items(response, graph, last_input, NULL, NULL)) return;
    response->started = true;
    response_events_begin(&response->events);
    if (writes != NULL) {
        tn_value event = tn_build("{s:s, s:s, s:v}", "type", "updates", "node", "", "writes", writes);
        if (event != NULL) serving_items_event(response->items, event);
        tn_release(event);
    }
    serving_items_end(response->items, report);
    response_note_ended(response, report);
    tn_release(writes);
}
