/*
 * owner.c - reads and writes the prefix `@OWNER:` of ids.
 */
#include "host/plugin/call/owner.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

static bool is_first_of_owner(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
static bool is_in_owner(char c) { return is_first_of_owner(c) || c == '_' || c == '.' || c == '-'; }

/* The length of the owner's name that the text begins with; 0 if it begins with none. */
static size_t owner_length(const char *text) {
    size_t length = 0;
    if (!is_first_of_owner(*text)) return 0;
    while (is_in_owner(text[length])) length++;
    return length <= OWNER_MAX ? length : 0;
}

bool owner_is_valid(const char *owner) {
    size_t length = owner_length(owner);
    return length && !owner[length];
}

bool owner_of(const char *id, char out[OWNER_TEXT]) {
    if (!id || *id != '@') return false;
    size_t length = owner_length(id + 1);
    if (!length || id[1 + length] != ':') return false;
    memcpy(out, id + 1, length);
    out[length] = 0;
    return true;
}

bool owner_has(const char *owner, const char *id) {
    char of[OWNER_TEXT];
    return !owner || (owner_of(id, of) && strcmp(of, owner) == 0);
}

void owner_prefix(const char *owner, char out[OWNER_PREFIX_TEXT]) {
    out[0] = 0;
    if (owner) snprintf(out, OWNER_PREFIX_TEXT, "@%.*s:", OWNER_MAX, owner);
}

void owner_range(const char *owner, char from[OWNER_PREFIX_TEXT], char to[OWNER_PREFIX_TEXT]) {
    owner_prefix(owner, from);
    memcpy(to, from, OWNER_PREFIX_TEXT);
    to[strlen(to) - 1] = ':' + 1;
}

char *owner_confine(const char *owner, const char *id) {
    char prefix[OWNER_PREFIX_TEXT];
    if (owner_has(owner, id)) return mem_text(id);
    owner_prefix(owner, prefix);
    size_t size = strlen(prefix) + strlen(id) + 1;
    char *whole = mem_alloc(size);
    snprintf(whole, size, "%s%s", prefix, id);
    return whole;
}

char *owner_complete(const char *owner, const char *id, struct error *error) {
    char of[OWNER_TEXT];
    if (!owner || !owner_of(id, of) || strcmp(of, owner) == 0) return owner_confine(owner, id);
    error_set(error, TN_NOT_FOUND, "NOT_FOUND",
              "there is no `%.200s`; expected an id without the prefix `@NAME:`, or with your own", id);
    return NULL;
}

tn_value owner_confine_value(const char *owner, tn_value id) {
    size_t length;
    const char *text = owner && value_is(id, TN_STRING) ? value_chars(id, &length) : NULL;
    if (!text || !length || strlen(text) != length) return value_ref(id);
    char *whole = owner_confine(owner, text);
    tn_value confined = value_text(whole);
    mem_free(whole);
    return confined;
}

bool owner_of_run(const char *thread_id, const char *run_id, char out[OWNER_TEXT]) {
    return owner_of(thread_id, out) || owner_of(run_id, out);
}

static const char *text_member(tn_value object, const char *name) {
    tn_value member = value_get(object, name);
    return value_is(member, TN_STRING) ? value_chars(member, NULL) : NULL;
}

bool owner_of_context(tn_value context, char out[OWNER_TEXT]) {
    return owner_of_run(text_member(context, "thread_id"), text_member(context, "run_id"), out);
}
