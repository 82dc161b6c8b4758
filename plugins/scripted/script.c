/*
 * script.c - reads replies and rules, and chooses a reply.
 *
 * By history: the number of ai messages in the input selects the reply. Only replies without an error are counted,
 * because an error adds no message to the history. The errors before a reply are used for its first attempts, one each.
 * The choice depends only on the input and the attempt, so a resumed or replayed run gets the same reply. By calls: the
 * number of previous calls of this instance selects the reply; it starts at 0 in every process.
 */
#include "script.h"

static void *script_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

/* ---- Replies ---- */

static bool script_is_object(tn_value value) { return tn.value->kind(value) == TN_OBJECT; }
static bool script_is_text(tn_value value) { return tn.value->kind(value) == TN_STRING; }

/* Returns a message of a script in the normal form; its default type is ai. NULL if it is not a message. */
static tn_value script_message(tn_value given) {
    if (script_is_text(given)) return tn_message("ai", given);
    if (!script_is_object(given)) return NULL;
    if (tn_get(given, "content") == NULL && tn_get(given, "tool_calls") == NULL) return NULL;
    if (tn_get(given, "type") != NULL || tn_get(given, "role") != NULL) {
        return tn_message_is(given, "ai") ? tn_message_normal(given) : NULL;
    }
    tn_value typed = tn_set_take(tn_retain(given), "type", tn_text("ai"));
    tn_value message = typed != NULL ? tn_message_normal(typed) : NULL;
    tn_release(typed);
    return message;
}

/* Returns why the message is invalid, or NULL. */
static const char *script_message_fault(tn_value message) {
    tn_value calls = tn_get(message, "tool_calls"), content = tn_get(message, "content");
    if (calls != NULL && tn.value->kind(calls) != TN_ARRAY) return "`tool_calls` must be a list of {name, arguments}";
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (!script_is_text(tn_get(tn.value->at(calls, i), "name"))) return "a tool call has no `name`";
    for (uint64_t i = 0, count = script_is_text(content) ? 0 : tn.value->count(content); i < count; i++)
        if (!script_is_text(tn_get(tn.value->at(content, i), "type")))
            return "a part of its content has no `type`: \"text\", \"image\", \"reasoning\", …";
    return NULL;
}

/* Returns why {message, usage, …} is invalid, or NULL. */
static const char *script_reply_fault(tn_value given) {
    static const char *const known[] = {"message", "usage", "finish_reason", "delay_ms", "error"};
    tn_value key, value, error = tn_get(given, "error"), usage = tn_get(given, "usage");
    for (uint64_t i = 0; tn.value->entry(given, i, &key, &value) == TN_OK; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found = found || strcmp(tn_chars(key, NULL), known[k]) == 0;
        if (!found) return "a reply may have only `message`, `usage`, `finish_reason`, `delay_ms` and `error`";
    }
    if (error != NULL && !script_is_text(tn_get(error, "code"))) return "`error` needs a `code`, such as RATE_LIMITED";
    if (usage != NULL && !script_is_object(usage)) return "`usage` must be an object such as {input_tokens: 3}";
    return NULL;
}

/* Returns one reply in the form of script.h. NULL if it is malformed; *fault is the reason. */
static tn_value script_reply(tn_value given, const char **fault) {
    bool wrapped = script_is_object(given) && tn_get(given, "type") == NULL && tn_get(given, "role") == NULL &&
                   (tn_get(given, "message") != NULL || tn_get(given, "error") != NULL);
    tn_value written = wrapped ? tn_get(given, "message") : given, message = NULL;
    *fault = wrapped ? script_reply_fault(given) : NULL;
    if (*fault != NULL) return NULL;
    if (written != NULL) {
        message = script_message(written);
        *fault = message == NULL
                     ? "it must be a text, an ai message with `content` or `tool_calls`, or {message, usage, …, error}"
                     : script_message_fault(message);
    }
    tn_value reply = NULL;
    if (*fault == NULL) {
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_OBJECT);
        if (message != NULL) tn_put(builder, "message", message);
        for (uint64_t i = 0, count = wrapped ? tn.value->count(given) : 0; i < count; i++) {
            tn_value key, value;
            if (tn.value->entry(given, i, &key, &value) != TN_OK) break;
            if (strcmp(tn_chars(key, NULL), "message") != 0) tn_put_key(builder, key, value);
        }
        tn.value->end(builder);
        reply = tn_finish(builder);
    }
    tn_release(message);
    return reply;
}

static int32_t script_read_replies(struct script *script, tn_value given, char reason[SCRIPT_REASON_MAX]) {
    uint64_t count = tn.value->count(given);
    if (count > SCRIPT_REPLIES_MAX) {
        (void)snprintf(reason, SCRIPT_REASON_MAX, "found %llu replies; a script has at most %d",
                       (unsigned long long)count, SCRIPT_REPLIES_MAX);
        return TN_LIMIT;
    }
    tn_builder *list = tn_builder_new();
    const char *fault = NULL;
    tn.value->begin(list, TN_ARRAY);
    for (uint64_t i = 0; i < count && fault == NULL; i++) {
        tn_value reply = script_reply(tn.value->at(given, i), &fault);
        if (fault != NULL)
            (void)snprintf(reason, SCRIPT_REASON_MAX, "replies[%llu], %s: %s", (unsigned long long)i,
                           tn_kind_name(tn.value->at(given, i)), fault);
        if (tn_get(reply, "error") == NULL) script->successes++;
        tn_put_take(list, NULL, reply);
    }
    if (count == 0) { /* the default reply: the text of the last user's message */
        tn_value echo = tn_text("{input}");
        tn_put_take(list, NULL, script_reply(echo, &fault));
        tn_release(echo);
        script->successes = 1;
    }
    tn.value->end(list);
    script->replies = tn_finish(list);
    if (fault != NULL) return TN_INVALID;
    return script->replies != NULL ? TN_OK : TN_NO_MEMORY;
}

/* ---- Rules ---- */

static int32_t script_read_pattern(struct rule *rule, const char *text, uint64_t length, uint64_t index,
                                   char reason[SCRIPT_REASON_MAX]) {
    char error[128];
    if (length > SCRIPT_PATTERN_MAX || strlen(text) != length) {
        (void)snprintf(reason, SCRIPT_REASON_MAX,
                       "rules[%llu].matches: found %llu bytes; a pattern may have at most %d, without NUL",
                       (unsigned long long)index, (unsigned long long)length, SCRIPT_PATTERN_MAX);
        return TN_LIMIT;
    }
    int status = regcomp(&rule->pattern, text, REG_EXTENDED | REG_NOSUB);
    if (status == 0) return TN_OK;
    (void)regerror(status, &rule->pattern, error, sizeof error);
    (void)snprintf(reason, SCRIPT_REASON_MAX,
                   "rules[%llu].matches: `%.80s` is not a POSIX extended regular expression: %s",
                   (unsigned long long)index, text, error);
    return TN_INVALID;
}

static int32_t script_read_rule(struct rule *rule, tn_value given, uint64_t index, char reason[SCRIPT_REASON_MAX]) {
    uint64_t length = 0;
    const char *fault = NULL, *matches = tn_chars(tn_get(given, "matches"), &length);
    const char *in = tn_get_text(given, "in", "user");
    rule->contains = tn_get_text(given, "contains", NULL);
    rule->last = strcmp(in, "last") == 0;
    if ((rule->contains == NULL) == (matches == NULL))
        fault = "set either `contains` (a text) or `matches` (a regular expression)";
    else if (!rule->last && strcmp(in, "user") != 0)
        fault = "`in` must be \"user\" (the last user's message) or \"last\" (the last message)";
    else
        rule->reply = script_reply(tn_get(given, "reply"), &fault);
    if (fault != NULL) {
        (void)snprintf(reason, SCRIPT_REASON_MAX, "rules[%llu]: %s", (unsigned long long)index, fault);
        return TN_INVALID;
    }
    if (rule->reply == NULL) return TN_NO_MEMORY;
    if (rule->contains != NULL) return TN_OK;
    int32_t status = script_read_pattern(rule, matches, length, index, reason);
    if (status != TN_OK) {
        tn_release(rule->reply);
        rule->reply = NULL;
    }
    return status;
}

static int32_t script_read_rules(struct script *script, tn_value given, char reason[SCRIPT_REASON_MAX]) {
    uint64_t count = tn.value->count(given);
    if (count == 0) return TN_OK;
    if (count > SCRIPT_RULES_MAX) {
        (void)snprintf(reason, SCRIPT_REASON_MAX, "found %llu rules; a script has at most %d",
                       (unsigned long long)count, SCRIPT_RULES_MAX);
        return TN_LIMIT;
    }
    script->rules = script_alloc(count * sizeof *script->rules);
    if (script->rules == NULL) return TN_NO_MEMORY;
    int32_t status = TN_OK;
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        status = script_read_rule(&script->rules[i], tn.value->at(given, i), i, reason);
        if (status == TN_OK) script->rule_count++;
    }
    return status;
}

/* ---- Scripts as text ---- */

/* Reads one JSON reply per line, ignoring blank lines. Returns NULL and the reason if it fails. */
static tn_value script_read_lines(const char *text, uint64_t length, char reason[SCRIPT_REASON_MAX]) {
    const char *at = text, *end = text + length;
    tn_builder *list = tn_builder_new();
    bool ok = true;
    tn.value->begin(list, TN_ARRAY);
    for (unsigned line = 1; at < end && ok; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        bool blank = true;
        for (const char *c = at; c < stop; c++) blank = blank && strchr(" \t\r", *c) != NULL;
        tn_value reply = blank ? NULL : tn_from_json(at, (uint64_t)(stop - at));
        if (!blank && reply == NULL) {
            (void)snprintf(
                reason, SCRIPT_REASON_MAX,
                "script: line %u is not JSON; expected a list of replies, {replies, rules}, or one reply per "
                "line, each as JSON",
                line);
            ok = false;
        }
        if (reply != NULL) tn_put_take(list, NULL, reply);
        at = stop < end ? stop + 1 : end;
    }
    tn.value->end(list);
    tn_value replies = tn_finish(list);
    if (ok) return replies;
    tn_release(replies);
    return NULL;
}

/* Returns {replies, rules} from the configuration or the script. NULL and the reason if it fails. */
static tn_value script_read_source(tn_value config, char reason[SCRIPT_REASON_MAX]) {
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(config, "script"), &length);
    tn_value read = NULL;
    if (text == NULL) return tn_retain(config);
    if (tn_get(config, "replies") != NULL) {
        (void)snprintf(reason, SCRIPT_REASON_MAX, "`replies` and `script` are both set; remove one of them");
        return NULL;
    }
    read = tn_from_json(text, length);
    if (read == NULL) read = script_read_lines(text, length, reason);
    if (read == NULL) return NULL;
    bool list = tn.value->kind(read) == TN_ARRAY, complete = script_is_object(read) && tn_get(read, "replies") != NULL;
    if (script_is_text(read) || (script_is_object(read) && !complete)) { /* a single line is one reply */
        read = tn_build("[V]", read);
        list = true;
    }
    if (!list && !complete) {
        (void)snprintf(reason, SCRIPT_REASON_MAX, "script: found %s; expected a list of replies, or {replies, rules}",
                       tn_kind_name(read));
        tn_release(read);
        return NULL;
    }
    if (complete) return read;
    return tn_set_take(tn_retain(config), "replies", read);
}

int32_t script_init(struct script *script, tn_value config, char reason[SCRIPT_REASON_MAX]) {
    int32_t cycle = 1;
    (void)tn.value->as_bool(tn_get(config, "cycle"), &cycle);
    *script = (struct script){.cycle = cycle != 0, .by_calls = strcmp(tn_get_text(config, "by", ""), "calls") == 0};
    reason[0] = '\0';
    script->source = script_read_source(config, reason);
    int32_t status = script->source != NULL ? TN_OK : reason[0] != '\0' ? TN_INVALID : TN_NO_MEMORY;
    if (status == TN_OK) status = script_read_replies(script, tn_get(script->source, "replies"), reason);
    if (status == TN_OK) status = script_read_rules(script, tn_get(script->source, "rules"), reason);
    if (status != TN_OK) script_finish(script);
    return status;
}

void script_finish(struct script *script) {
    for (uint64_t i = 0; i < script->rule_count; i++) {
        if (script->rules[i].contains == NULL) regfree(&script->rules[i].pattern);
        tn_release(script->rules[i].reply);
    }
    tn.core->release(tn.host, script->rules);
    tn_release(script->replies);
    tn_release(script->source);
}

/* ---- Choosing ---- */

static bool rule_matches(const struct rule *rule, const struct script_turn *turn) {
    uint64_t length = 0;
    const char *text = tn_chars(rule->last ? turn->last : turn->input, &length);
    if (text == NULL) text = "";
    if (length > SCRIPT_SEARCH_MAX) length = SCRIPT_SEARCH_MAX;
    if (rule->contains != NULL) {
        size_t wanted = strlen(rule->contains);
        return wanted == 0 || memmem(text, length, rule->contains, wanted) != NULL;
    }
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};
    return regexec(&rule->pattern, text, 1, &range, REG_STARTEND) == 0;
}

static bool script_reply_is_error(const struct script *script, uint64_t index) {
    return tn_get(tn.value->at(script->replies, index), "error") != NULL;
}

/* Returns the index of the n-th reply without an error. */
static uint64_t script_success_index(const struct script *script, uint64_t n) {
    uint64_t at = 0;
    while (script_reply_is_error(script, at) || n-- > 0) at++;
    return at;
}

static tn_value script_choose_by_history(const struct script *script, uint64_t number, uint64_t attempt) {
    uint64_t count = tn.value->count(script->replies), rounds, wanted, failures = 0;
    if (script->successes == 0) {
        if (attempt > count && !script->cycle) return NULL;
        return tn.value->at(script->replies, (attempt - 1) % count);
    }
    rounds = number / script->successes;
    wanted = script_success_index(script, number % script->successes);
    if (rounds > 0 && !script->cycle) wanted = count; /* past the last success; only errors can follow */
    uint64_t from = wanted;
    while (from > 0 && script_reply_is_error(script, from - 1)) from--;
    failures = wanted - from;
    if (from == 0 && rounds > 0) { /* the errors after the last success precede the first reply of the next round */
        uint64_t after = count;
        while (script_reply_is_error(script, after - 1)) after--;
        if (attempt <= count - after) return tn.value->at(script->replies, after + attempt - 1);
        attempt -= count - after;
    }
    return tn.value->at(script->replies, attempt <= failures ? from + attempt - 1 : wanted);
}

tn_value script_choose(const struct script *script, const struct script_turn *turn) {
    for (uint64_t i = 0; i < script->rule_count; i++)
        if (rule_matches(&script->rules[i], turn)) return script->rules[i].reply;
    uint64_t number = (uint64_t)turn->number, count = tn.value->count(script->replies);
    if (!script->by_calls) return script_choose_by_history(script, number, (uint64_t)turn->attempt);
    return tn.value->at(script->replies, script->cycle ? number % count : number);
}
