/*
 * message.c - messages and ids: those of Tenon, and those of LangGraph.
 */
#include "langgraph.h"
#include <stdlib.h>
#include <tenon/message.h>
#include <time.h>

/* ---- Messages ---- */

static const struct {
    const char *theirs, *ours;
} types[] = {{"human", "user"},        {"user", "user"},     {"ai", "ai"},
             {"assistant", "ai"},      {"tool", "tool"},     {"system", "system"},
             {"AIMessageChunk", "ai"}, {"remove", "remove"}, {"developer", "developer"}};

static const char *our_type(const char *type) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].theirs, type) == 0) return types[i].ours;
    return NULL;
}

static const char *their_type(const char *type) {
    if (strcmp(type, "developer") == 0) return "system";
    if (strcmp(type, "error") == 0) return "ai";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].ours, type) == 0) return types[i].theirs;
    return NULL;
}

static const char *type_of(tn_value message) { return tn_get_text(message, "type", tn_get_text(message, "role", "")); }

bool is_message(tn_value value) {
    const char *type = type_of(value);
    if (tn.value->kind(value) != TN_OBJECT) return false;
    if (strcmp(type, "remove") == 0) return tn_get(value, "id") != NULL;
    return (our_type(type) != NULL || strcmp(type, "error") == 0) &&
           (tn_get(value, "content") != NULL || tn_get(value, "tool_calls") != NULL);
}

/* Sets `to` to the value of `from`, or does nothing. */
static tn_value copy_member(tn_value made, tn_value message, const char *from, const char *to) {
    tn_value member = tn_get(message, from);
    if (member == NULL || tn.value->kind(member) == TN_NULL) return made;
    return tn_set_take(made, to, tn_retain(member));
}

static tn_value part_in(tn_value part) {
    tn_value url = tn_get(part, "image_url");
    if (!serving_is(tn_get(part, "type"), "image_url") || url == NULL) return tn_retain(part);
    if (tn.value->kind(url) == TN_OBJECT) url = tn_get(url, "url");
    return tn_build("{s:s, s:v?}", "type", "image", "url", url);
}

static tn_value part_out(tn_value part) {
    tn_value url = tn_get(part, "url");
    if (serving_is(tn_get(part, "type"), "image") && tn_chars(url, NULL) != NULL)
        return tn_build("{s:s, s:{s:v}}", "type", "image_url", "image_url", "url", url);
    return tn_retain(part);
}

static tn_value call_in(tn_value call) {
    return tn_build("{s:v?, s:v?, s:v?}", "id", tn_get(call, "id"), "name", tn_get(call, "name"), "arguments",
                    tn_get(call, "args"));
}

static tn_value call_out(tn_value call) {
    tn_value arguments = tn_get(call, "arguments");
    tn_value args = tn.value->kind(arguments) == TN_OBJECT ? tn_retain(arguments) : tn_build("{}");
    return tn_build("{s:v?, s:v?, s:V, s:s}", "id", tn_get(call, "id"), "name", tn_get(call, "name"), "args", args,
                    "type", "tool_call");
}

/* Each item of an array: new. Another value is only retained. */
static tn_value map_array(tn_value array, tn_value (*convert)(tn_value item)) {
    if (tn.value->kind(array) != TN_ARRAY) return tn_retain(array);
    tn_value made = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(array); i < count; i++)
        (void)tn_append_take(&made, convert(tn.value->at(array, i)));
    return made;
}

static tn_value one_in(tn_value message) {
    const char *type = our_type(type_of(message));
    if (!is_message(message) || type == NULL) return tn_retain(message);
    tn_value made = tn_build("{s:s}", "type", type), content = tn_get(message, "content");
    if (content != NULL) made = tn_set_take(made, "content", map_array(content, part_in));
    if (content == NULL && strcmp(type, "remove") != 0) made = tn_set_take(made, "content", tn_text(""));
    made = copy_member(made, message, "id", "id");
    made = copy_member(made, message, "name", "name");
    made = copy_member(made, message, "tool_call_id", "tool_call_id");
    if (serving_is(tn_get(message, "status"), "error")) made = tn_set_take(made, "status", tn_text("error"));
    if (tn.value->count(tn_get(message, "tool_calls")) > 0)
        made = tn_set_take(made, "tool_calls", map_array(tn_get(message, "tool_calls"), call_in));
    return made;
}

static tn_value usage_out(tn_value usage) {
    int64_t in = tn_get_int(usage, "input_tokens", 0), out = tn_get_int(usage, "output_tokens", 0);
    return tn_build("{s:I, s:I, s:I}", "input_tokens", in, "output_tokens", out, "total_tokens",
                    tn_get_int(usage, "total_tokens", in + out));
}

tn_value message_out(tn_value message) {
    const char *type = their_type(type_of(message));
    if (!is_message(message) || type == NULL) return tn_retain(message);
    tn_value made = tn_build("{s:s}", "type", type), content = tn_get(message, "content");
    bool ai = strcmp(type, "ai") == 0;
    bool none = content == NULL || tn.value->kind(content) == TN_NULL;
    made = tn_set_take(made, "content", none ? tn_text("") : map_array(content, part_out));
    made = tn_set_take(made, "additional_kwargs", tn_build("{}"));
    made = tn_set_take(made, "response_metadata", tn_build("{}"));
    made = copy_member(made, message, "id", "id");
    made = copy_member(made, message, "name", "name");
    made = copy_member(made, message, "tool_call_id", "tool_call_id");
    if (strcmp(type, "tool") == 0)
        made =
            tn_set_take(made, "status", tn_text(serving_is(tn_get(message, "status"), "error") ? "error" : "success"));
    if (ai) {
        tn_value calls = tn_message_calls(message);
        made = tn_set_take(made, "tool_calls", calls != NULL ? map_array(calls, call_out) : tn_build("[]"));
        made = tn_set_take(made, "invalid_tool_calls", tn_build("[]"));
        if (tn.value->count(tn_get(message, "usage")) > 0)
            made = tn_set_take(made, "usage_metadata", usage_out(tn_get(message, "usage")));
    }
    return made;
}

static bool has_message(tn_value array) {
    for (uint64_t i = 0, count = tn.value->count(array); i < count; i++)
        if (is_message(tn.value->at(array, i))) return true;
    return false;
}

static tn_value convert(tn_value value, tn_value (*one)(tn_value message)) {
    if (tn.value->kind(value) == TN_ARRAY && has_message(value)) return map_array(value, one);
    return one(value);
}

static tn_value convert_members(tn_value state, tn_value (*one)(tn_value message)) {
    tn_value key, member;
    if (tn.value->kind(state) != TN_OBJECT) return tn_retain(state);
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(state); i < count; i++)
        if (tn.value->entry(state, i, &key, &member) == TN_OK) tn_put_key_take(builder, key, convert(member, one));
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value message_in(tn_value value) { return convert(value, one_in); }
tn_value state_in(tn_value state) { return convert_members(state, one_in); }
tn_value state_out(tn_value state) { return convert_members(state, message_out); }

tn_value values_out(tn_value state) {
    tn_value all = state_out(state), made = tn_build("{}"), key, member;
    for (uint64_t i = 0, count = tn.value->count(all); i < count; i++) {
        if (tn.value->entry(all, i, &key, &member) != TN_OK || tn.value->kind(member) == TN_NULL) continue;
        made = tn_set_take(made, tn_chars(key, NULL), tn_retain(member));
    }
    tn_release(all);
    return made;
}

/* ---- Questions ---- */

tn_value interrupts_out(tn_value interrupts) {
    tn_value made = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(interrupts); i < count; i++) {
        tn_value interrupt = tn.value->at(interrupts, i);
        if (tn_get(interrupt, "when") != NULL) continue; /* a breakpoint is not a question */
        (void)tn_append_take(
            &made, tn_build("{s:v?, s:v?}", "id", tn_get(interrupt, "id"), "value", tn_get(interrupt, "payload")));
    }
    return made;
}

/* ---- Ids ---- */

const char *bare_id(const char *id) {
    const char *colon = strrchr(id, ':');
    return *id == '@' && colon != NULL ? colon + 1 : id;
}

bool is_uuid(const char *text) {
    for (size_t i = 0; i < UUID_TEXT - 1; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : text[i] == '\0' || strchr("0123456789abcdefABCDEF", text[i]) == NULL) return false;
    }
    return text[UUID_TEXT - 1] == '\0';
}

/* 32 digits, with the version and the variant of RFC 9562. */
static void uuid_write(const char *hex, char version, char out[UUID_TEXT]) {
    (void)snprintf(out, UUID_TEXT, "%.8s-%.4s-%c%.3s-a%.3s-%.12s", hex, hex + 8, version, hex + 13, hex + 17, hex + 20);
}

void uuid_new(char out[UUID_TEXT]) {
    char hex[33];
    serving_random_hex(hex, 32);
    uuid_write(hex, '4', out);
}

/* FNV-1a. */
static uint64_t hash(const char *text, uint64_t seed) {
    uint64_t h = UINT64_C(14695981039346656037) ^ seed;
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h;
}

void uuid_of_name(const char *name, char out[UUID_TEXT]) {
    char hex[33];
    (void)snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)hash(name, 0),
                   (unsigned long long)hash(name, UINT64_C(0x9e3779b97f4a7c15)));
    uuid_write(hex, '8', out);
}

static const char checkpoint_prefix[] = "00000000-0000-8000-a000-";
static const char checkpoint_start[] = "00000000-0000-8000-b000-000000000000";

void checkpoint_id(int64_t seq, char out[UUID_TEXT]) {
    if (seq == CHECKPOINT_START) {
        (void)snprintf(out, UUID_TEXT, "%s", checkpoint_start);
        return;
    }
    (void)snprintf(out, UUID_TEXT, "%s%012llx", checkpoint_prefix, (unsigned long long)seq & UINT64_C(0xffffffffffff));
}

int64_t checkpoint_seq(const char *id) {
    size_t length = sizeof checkpoint_prefix - 1;
    if (strcmp(id, checkpoint_start) == 0) return CHECKPOINT_START;
    if (!is_uuid(id) || strncmp(id, checkpoint_prefix, length) != 0) return -1;
    int64_t seq = strtoll(id + length, NULL, 16);
    return seq <= INT64_C(4294967295) ? seq : -1;
}

/* ---- Times ---- */

void time_text(int64_t ms, char out[TIME_TEXT_SIZE]) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char text[24];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(out, TIME_TEXT_SIZE, "%s.%03dZ", text, (int)(ms % 1000));
}

tn_value time_value(int64_t ms) {
    char text[TIME_TEXT_SIZE];
    if (ms == 0) return tn_null();
    time_text(ms, text);
    return tn_text(text);
}
