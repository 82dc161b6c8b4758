/*
 * script.c - reading replies and rules, and choosing among them.
 *
 * By history the number of ai messages in the input says which reply is next, and so counts replies without an error:
 * an error leaves no message. The errors before a reply are for the first attempts at it, one each. So the choice is a
 * function of the input and the attempt, both of which a run that is resumed or replayed has again. By calls it is the
 * number of calls of this instance, which begins at nothing in every process.
 */
#include "script.h"

static void *zalloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

/* ---- Replies ---- */

static bool is_object(tn_value value) { return tn.value->kind(value) == TN_OBJECT; }
static bool is_text(tn_value value) { return tn.value->kind(value) == TN_STRING; }

/* A message as one may write it in a script: of type ai where that is not said. NULL where it is none. */
static tn_value message_of(tn_value given) {
    if (is_text(given)) return tn_message("ai", given);
    if (!is_object(given)) return NULL;
    if (tn.value->get(given, "content") == NULL && tn.value->get(given, "tool_calls") == NULL) return NULL;
    if (tn.value->get(given, "type") != NULL || tn.value->get(given, "role") != NULL) {
        return tn_message_is(given, "ai") ? tn_message_normal(given) : NULL;
    }
    tn_value type = tn_text("ai"), typed = tn.value->set(given, "type", type);
    tn_value made = typed != NULL ? tn_message_normal(typed) : NULL;
    tn_release(type);
    tn_release(typed);
    return made;
}

/* What is wrong with a message, or NULL. */
static const char *message_fault(tn_value message) {
    tn_value calls = tn.value->get(message, "tool_calls"), content = tn.value->get(message, "content");
    if (calls != NULL && tn.value->kind(calls) != TN_ARRAY) return "`tool_calls` must be a list of {name, arguments}";
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (!is_text(tn.value->get(tn.value->at(calls, i), "name"))) return "a tool call has no `name`";
    for (uint64_t i = 0, count = is_text(content) ? 0 : tn.value->count(content); i < count; i++)
        if (!is_text(tn.value->get(tn.value->at(content, i), "type")))
            return "a part of its content has no `type`: \"text\", \"image\", \"reasoning\", …";
    return NULL;
}

static const char *wrapper_fault(tn_value given) {
    static const char *const known[] = {"message", "usage", "finish_reason", "delay_ms", "error"};
    tn_value key, value, error = tn.value->get(given, "error"), usage = tn.value->get(given, "usage");
    for (uint64_t i = 0; tn.value->entry(given, i, &key, &value) == TN_OK; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found = found || strcmp(tn_chars(key, NULL), known[k]) == 0;
        if (!found) return "a reply has `message`, `usage`, `finish_reason`, `delay_ms` and `error`, and nothing else";
    }
    if (error != NULL && !is_text(tn.value->get(error, "code"))) return "`error` needs a `code`, such as RATE_LIMITED";
    if (usage != NULL && !is_object(usage)) return "`usage` must be an object such as {input_tokens: 3}";
    return NULL;
}

/* One reply as it was written, in the form of script.h; NULL and why not. */
static tn_value reply_of(tn_value given, const char **fault) {
    bool wrapped = is_object(given) && tn.value->get(given, "type") == NULL && tn.value->get(given, "role") == NULL &&
                   (tn.value->get(given, "message") != NULL || tn.value->get(given, "error") != NULL);
    tn_value written = wrapped ? tn.value->get(given, "message") : given, message = NULL;
    *fault = wrapped ? wrapper_fault(given) : NULL;
    if (*fault != NULL) return NULL;
    if (written != NULL) {
        message = message_of(written);
        *fault = message == NULL
                     ? "it must be a text, an ai message with `content` or `tool_calls`, or {message, usage, …, error}"
                     : message_fault(message);
    }
    tn_value reply = NULL;
    if (*fault == NULL) {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        if (message != NULL) tn_put(builder, "message", message);
        for (uint64_t i = 0, count = wrapped ? tn.value->count(given) : 0; i < count; i++) {
            tn_value key, value;
            if (tn.value->entry(given, i, &key, &value) != TN_OK) break;
            if (strcmp(tn_chars(key, NULL), "message") != 0) tn_put(builder, tn_chars(key, NULL), value);
        }
        tn.value->end(builder);
        reply = tn.value->finish(builder);
    }
    tn_release(message);
    return reply;
}

static int32_t read_replies(struct script *script, tn_value given, char why[SCRIPT_WHY]) {
    uint64_t count = tn.value->count(given);
    if (count > SCRIPT_REPLIES_MAX) {
        (void)snprintf(why, SCRIPT_WHY, "found %llu replies; a script has at most %d", (unsigned long long)count,
                       SCRIPT_REPLIES_MAX);
        return TN_LIMIT;
    }
    tn_builder *list = tn.value->builder();
    const char *fault = NULL;
    tn.value->begin(list, TN_ARRAY);
    for (uint64_t i = 0; i < count && fault == NULL; i++) {
        tn_value reply = reply_of(tn.value->at(given, i), &fault);
        if (fault != NULL)
            (void)snprintf(why, SCRIPT_WHY, "replies[%llu], %s: %s", (unsigned long long)i,
                           tn_kind_name(tn.value->at(given, i)), fault);
        if (tn.value->get(reply, "error") == NULL) script->successes++;
        tn_put_take(list, NULL, reply);
    }
    if (count == 0) { /* an echo: what a model of this kind does that is given nothing to say */
        tn_value echo = tn_text("{input}");
        tn_put_take(list, NULL, reply_of(echo, &fault));
        tn_release(echo);
        script->successes = 1;
    }
    tn.value->end(list);
    script->replies = tn.value->finish(list);
    if (fault != NULL) return TN_INVALID;
    return script->replies != NULL ? TN_OK : TN_NO_MEMORY;
}

/* ---- Rules ---- */

static int32_t read_pattern(struct rule *rule, const char *text, uint64_t length, uint64_t index,
                            char why[SCRIPT_WHY]) {
    char said[128];
    if (length > SCRIPT_PATTERN_MAX || strlen(text) != length) {
        (void)snprintf(why, SCRIPT_WHY,
                       "rules[%llu].matches: found %llu bytes; a pattern has at most %d, none of them 0",
                       (unsigned long long)index, (unsigned long long)length, SCRIPT_PATTERN_MAX);
        return TN_LIMIT;
    }
    int status = regcomp(&rule->pattern, text, REG_EXTENDED | REG_NOSUB);
    if (status == 0) return TN_OK;
    (void)regerror(status, &rule->pattern, said, sizeof said);
    (void)snprintf(why, SCRIPT_WHY, "rules[%llu].matches: `%.80s` is no POSIX extended regular expression: %s",
                   (unsigned long long)index, text, said);
    return TN_INVALID;
}

static int32_t read_rule(struct rule *rule, tn_value given, uint64_t index, char why[SCRIPT_WHY]) {
    uint64_t length = 0;
    const char *fault = NULL, *matches = tn_chars(tn.value->get(given, "matches"), &length);
    const char *in = tn_get_text(given, "in", "user");
    rule->contains = tn_get_text(given, "contains", NULL);
    rule->last = strcmp(in, "last") == 0;
    if ((rule->contains == NULL) == (matches == NULL))
        fault = "give either `contains`, a text, or `matches`, a regular expression";
    else if (!rule->last && strcmp(in, "user") != 0)
        fault = "`in` is \"user\", the last user's message, or \"last\", the last message";
    else
        rule->reply = reply_of(tn.value->get(given, "reply"), &fault);
    if (fault != NULL) {
        (void)snprintf(why, SCRIPT_WHY, "rules[%llu]: %s", (unsigned long long)index, fault);
        return TN_INVALID;
    }
    if (rule->reply == NULL) return TN_NO_MEMORY;
    if (rule->contains != NULL) return TN_OK;
    int32_t status = read_pattern(rule, matches, length, index, why);
    if (status != TN_OK) {
        tn_release(rule->reply);
        rule->reply = NULL;
    }
    return status;
}

static int32_t read_rules(struct script *script, tn_value given, char why[SCRIPT_WHY]) {
    uint64_t count = tn.value->count(given);
    if (count == 0) return TN_OK;
    if (count > SCRIPT_RULES_MAX) {
        (void)snprintf(why, SCRIPT_WHY, "found %llu rules; a script has at most %d", (unsigned long long)count,
                       SCRIPT_RULES_MAX);
        return TN_LIMIT;
    }
    script->rules = zalloc(count * sizeof *script->rules);
    if (script->rules == NULL) return TN_NO_MEMORY;
    int32_t status = TN_OK;
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        status = read_rule(&script->rules[i], tn.value->at(given, i), i, why);
        if (status == TN_OK) script->rule_count++;
    }
    return status;
}

/* ---- A script as a text ---- */

/* Replies one a line: JSON, blank lines left out. NULL and why not. */
static tn_value read_lines(const char *text, uint64_t length, char why[SCRIPT_WHY]) {
    const char *at = text, *end = text + length;
    tn_builder *list = tn.value->builder();
    bool good = true;
    tn.value->begin(list, TN_ARRAY);
    for (unsigned line = 1; at < end && good; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        bool blank = true;
        for (const char *c = at; c < stop; c++) blank = blank && strchr(" \t\r", *c) != NULL;
        tn_value reply = NULL;
        if (!blank && tn.value->from_json(at, (uint64_t)(stop - at), &reply) != TN_OK) {
            (void)snprintf(why, SCRIPT_WHY,
                           "script: line %u is no JSON; expected a list of replies, {replies, rules}, or one reply a "
                           "line, each as JSON",
                           line);
            good = false;
        }
        if (reply != NULL) tn_put_take(list, NULL, reply);
        at = stop < end ? stop + 1 : end;
    }
    tn.value->end(list);
    tn_value made = tn.value->finish(list);
    if (good) return made;
    tn_release(made);
    return NULL;
}

/* {replies, rules} from wherever they stand; NULL and why not. */
static tn_value read_source(tn_value config, char why[SCRIPT_WHY]) {
    uint64_t length = 0;
    const char *text = tn_chars(tn.value->get(config, "script"), &length);
    tn_value read = NULL;
    if (text == NULL) return tn_retain(config);
    if (tn.value->get(config, "replies") != NULL) {
        (void)snprintf(why, SCRIPT_WHY, "`replies` and `script` are both given; leave one of them out");
        return NULL;
    }
    if (tn.value->from_json(text, length, &read) != TN_OK) read = read_lines(text, length, why);
    if (read == NULL) return NULL;
    bool list = tn.value->kind(read) == TN_ARRAY, whole = is_object(read) && tn.value->get(read, "replies") != NULL;
    if (is_text(read) || (is_object(read) && !whole)) { /* one line, one reply */
        tn_builder *one = tn.value->builder();
        tn.value->begin(one, TN_ARRAY);
        tn_put_take(one, NULL, read);
        tn.value->end(one);
        read = tn.value->finish(one);
        list = true;
    }
    if (!list && !whole) {
        (void)snprintf(why, SCRIPT_WHY, "script: found %s; expected a list of replies, or {replies, rules}",
                       tn_kind_name(read));
        tn_release(read);
        return NULL;
    }
    if (whole) return read;
    tn_value source = read != NULL ? tn.value->set(config, "replies", read) : NULL;
    tn_release(read);
    return source;
}

int32_t script_init(struct script *script, tn_value config, char why[SCRIPT_WHY]) {
    int32_t cycle = 1;
    (void)tn.value->as_bool(tn.value->get(config, "cycle"), &cycle);
    *script = (struct script){.cycle = cycle != 0, .by_calls = strcmp(tn_get_text(config, "by", ""), "calls") == 0};
    why[0] = '\0';
    script->source = read_source(config, why);
    int32_t status = script->source != NULL ? TN_OK : why[0] != '\0' ? TN_INVALID : TN_NO_MEMORY;
    if (status == TN_OK) status = read_replies(script, tn.value->get(script->source, "replies"), why);
    if (status == TN_OK) status = read_rules(script, tn.value->get(script->source, "rules"), why);
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

static bool rule_fits(const struct rule *rule, const struct turn *turn) {
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

static bool is_failure(const struct script *script, uint64_t index) {
    return tn.value->get(tn.value->at(script->replies, index), "error") != NULL;
}

/* Where the n-th reply without an error stands. */
static uint64_t success_at(const struct script *script, uint64_t n) {
    uint64_t at = 0;
    while (is_failure(script, at) || n-- > 0) at++;
    return at;
}

static tn_value by_history(const struct script *script, uint64_t number, uint64_t attempt) {
    uint64_t count = tn.value->count(script->replies), rounds, wanted, failures = 0;
    if (script->successes == 0) {
        if (attempt > count && !script->cycle) return NULL;
        return tn.value->at(script->replies, (attempt - 1) % count);
    }
    rounds = number / script->successes;
    wanted = success_at(script, number % script->successes);
    if (rounds > 0 && !script->cycle) wanted = count; /* behind the last, where only errors may stand */
    uint64_t from = wanted;
    while (from > 0 && is_failure(script, from - 1)) from--;
    failures = wanted - from;
    if (from == 0 && rounds > 0) { /* those behind the last reply come first */
        uint64_t behind = count;
        while (is_failure(script, behind - 1)) behind--;
        if (attempt <= count - behind) return tn.value->at(script->replies, behind + attempt - 1);
        attempt -= count - behind;
    }
    return tn.value->at(script->replies, attempt <= failures ? from + attempt - 1 : wanted);
}

tn_value script_choose(const struct script *script, const struct turn *turn) {
    for (uint64_t i = 0; i < script->rule_count; i++)
        if (rule_fits(&script->rules[i], turn)) return script->rules[i].reply;
    uint64_t number = (uint64_t)turn->number, count = tn.value->count(script->replies);
    if (!script->by_calls) return by_history(script, number, (uint64_t)turn->attempt);
    return tn.value->at(script->replies, script->cycle ? number % count : number);
}
