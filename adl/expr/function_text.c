/*
 * function_text.c - base64, JSON, and what regular expressions capture.
 *
 * Patterns of these functions are compiled at each call, which counts as PATTERN_ITEMS; each match counts as
 * MATCH_OPERATIONS, because a search may take many steps.
 */
#include "adl/expr/function.h"
#include "adl/expr/pattern.h"
#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/weight.h"
#include <stdio.h>
#include <string.h>

#define MATCH_OPERATIONS 4

/* ---- base64 ---- */

HANDLER(base64_encode) {
    size_t length;
    const char *bytes = cell_chars(arguments, &length);
    struct buffer text;
    if (!charge_bytes(machine, length)) return stopped(machine);
    /* Refused before it is written, because bytes from outside can be large. */
    if (length > machine->expr->limits.string_length) return machine_stop(machine, FAULT_STRING_LENGTH);
    text_begin(machine, &text);
    base64_write(&text, bytes, length);
    return text_cell(machine, &text);
}

HANDLER(base64_decode) {
    size_t length, ends = 0; /* characters that end lines do not count for the padding */
    const char *chars = cell_chars(arguments, &length);
    struct buffer padded;
    if (!charge_bytes(machine, length)) return stopped(machine);
    buffer_init(&padded, SIZE_MAX);
    buffer_append(&padded, chars, length);
    for (size_t i = 0; i < length; i++) ends += chars[i] == '\r' || chars[i] == '\n';
    for (size_t i = length - ends; i % 4; i++) buffer_char(&padded, '=');
    tn_value bytes = base64_read_lines(buffer_cstr(&padded), padded.length);
    buffer_finish(&padded);
    return bytes ? build_held_take(machine, bytes, length) : cannot(machine, arguments);
}

/* ---- JSON ---- */

HANDLER(json_parse) {
    size_t length;
    const char *chars = cell_chars(arguments, &length);
    tn_value value = NULL;
    /* A short text such as [1,1,1] becomes eight times as many bytes. */
    if (length > machine->expr->limits.memory / 8) return machine_stop(machine, FAULT_MEMORY);
    if (!charge_bytes(machine, 8 * length)) return stopped(machine);
    if (json_read(chars, length, NULL, &value, NULL) != TN_OK) return fault_cell(machine, FAULT_NOT_JSON, arguments);
    return build_held_take(machine, value, 8 * length);
}

HANDLER(json_format) {
    const char *why;
    struct buffer text;
    if (!charge_items(machine, cell_weight(arguments))) return stopped(machine);
    tn_value value = cell_to_value(arguments, &why);
    if (!value) return cannot(machine, arguments);
    if (!charge_bytes(machine, (size_t)value_weight(value))) {
        value_unref(value);
        return stopped(machine);
    }
    text_begin(machine, &text);
    json_write(&text, value, JSON_COMPACT);
    value_unref(value);
    return text_cell(machine, &text);
}

/* ---- Regular expressions ---- */

/* A search through a text. */
struct search {
    struct machine *machine;
    struct regex *regex;
    const char *chars;
    size_t length, at; /* where the next search begins */
    struct regex_groups groups;
    struct cell fault; /* kind CELL_ERROR if it failed */
};

static void search_init(struct search *search, struct machine *machine, const struct cell *arguments) {
    char message[REGEX_MESSAGE];
    size_t length;
    const char *pattern = cell_chars(&arguments[1], &length);
    *search = (struct search){.machine = machine};
    search->chars = cell_chars(&arguments[0], &search->length);
    if (!charge_items(machine, REGEX_PATTERN_ITEMS)) {
        search->fault = stopped(machine);
        return;
    }
    search->regex = regex_new_with_groups(pattern, length, message);
    if (!search->regex) search->fault = fault_cell(machine, FAULT_PATTERN, &arguments[1]);
}

static void search_finish(struct search *search) { regex_free(search->regex); }

/* Finds the next match; false if there is none or the search has failed. An empty match does not stand still. */
static bool search_next(struct search *search) {
    struct machine *machine = search->machine;
    if (search->fault.kind == CELL_ERROR || search->at > search->length) return false;
    machine->left -= MATCH_OPERATIONS;
    if (machine->left < 0) {
        search->fault = machine_stop(machine, FAULT_OPERATIONS);
        return false;
    }
    if (!charge_bytes(machine, search->length - search->at)) {
        search->fault = stopped(machine);
        return false;
    }
    int found =
        regex_find(search->regex, search->chars, search->length, search->at, &machine->scratch, &search->groups);
    if (found < 0) search->fault = machine_stop(machine, FAULT_MATCHING);
    if (found <= 0) return false;
    size_t end = search->groups.ends[0];
    search->at = end;
    if (end > search->groups.starts[0]) return true;
    search->at++; /* to the next character */
    while (search->at < search->length && ((unsigned char)search->chars[search->at] & 0xc0) == 0x80) search->at++;
    return true;
}

static struct cell group_cell(const struct search *search, uint32_t group) {
    size_t start = search->groups.starts[group];
    if (start == SIZE_MAX) return (struct cell){.kind = TN_NULL};
    return build_text(search->machine, TN_STRING, search->chars + start, search->groups.ends[group] - start);
}

/* What extract returns of a match: its group, or the whole. A group that took no part is null. */
static struct cell extracted(const struct search *search) {
    return group_cell(search, search->groups.count > 1 ? 1 : 0);
}

static bool search_has_groups(struct search *search, const struct cell *pattern) {
    if (search->fault.kind == CELL_ERROR || regex_group_count(search->regex) <= 1) return false;
    search->fault = fault_cell(search->machine, FAULT_GROUPS, pattern);
    return true;
}

HANDLER(regex_extract) {
    struct search search;
    struct cell result = {.kind = TN_NULL};
    search_init(&search, machine, arguments);
    if (!search_has_groups(&search, &arguments[1]) && search_next(&search)) result = extracted(&search);
    search_finish(&search);
    return search.fault.kind == CELL_ERROR ? search.fault : result;
}

HANDLER(regex_extract_all) {
    struct search search;
    struct cell list = build_list(machine, 0);
    search_init(&search, machine, arguments);
    if (!search_has_groups(&search, &arguments[1])) {
        while (list.kind != CELL_ERROR && search_next(&search)) {
            struct cell item = extracted(&search);
            if (item.kind != TN_NULL) build_list_add(machine, &list, &item);
        }
    }
    search_finish(&search);
    return search.fault.kind == CELL_ERROR ? search.fault : list;
}

HANDLER(regex_groups) {
    struct search search;
    struct cell map = {.kind = TN_NULL};
    search_init(&search, machine, arguments);
    if (search_next(&search)) {
        map = build_map(machine, 0);
        for (uint32_t i = 0; i < search.groups.count && map.kind != CELL_ERROR; i++) {
            char number[16];
            const char *name = regex_group_name(search.regex, i);
            struct cell item = group_cell(&search, i);
            struct cell key = build_text(machine, TN_STRING, number, (size_t)snprintf(number, sizeof number, "%u", i));
            build_map_add(machine, &map, &key, &item);
            if (!name || map.kind == CELL_ERROR) continue;
            key = build_text(machine, TN_STRING, name, strlen(name));
            build_map_add(machine, &map, &key, &item);
        }
    }
    search_finish(&search);
    return search.fault.kind == CELL_ERROR ? search.fault : map;
}

/* Appends the replacement of a match; false if it names a group that does not exist. */
static bool append_replacement(const struct search *search, const char *new, size_t length, struct buffer *text) {
    for (size_t i = 0; i < length; i++) {
        if (new[i] != '\\') {
            buffer_char(text, new[i]);
            continue;
        }
        char next = ++i < length ? new[i] : 0;
        if (next == '\\') {
            buffer_char(text, next);
            continue;
        }
        uint32_t group = (uint32_t)(next - '0');
        if (next < '0' || next > '9' || group > regex_group_count(search->regex)) return false;
        size_t start = search->groups.starts[group];
        if (start != SIZE_MAX) buffer_append(text, search->chars + start, search->groups.ends[group] - start);
    }
    return true;
}

HANDLER(regex_replace) {
    struct search search;
    struct buffer text;
    size_t length, from = 0;
    int64_t limit = -1;
    if (arguments[2].kind != TN_STRING || (count == 4 && !cell_to_index(&arguments[3], &limit)))
        return no_overload(machine);
    const char *new = cell_chars(&arguments[2], &length);
    text_begin(machine, &text);
    search_init(&search, machine, arguments);
    for (; limit != 0 && !text.overflow && search_next(&search); limit -= limit > 0) {
        buffer_append(&text, search.chars + from, search.groups.starts[0] - from);
        if (!append_replacement(&search, new, length, &text)) search.fault = cannot(machine, &arguments[2]);
        from = search.groups.ends[0];
    }
    buffer_append(&text, search.chars + from, search.length - from);
    search_finish(&search);
    if (search.fault.kind != CELL_ERROR) return text_cell(machine, &text);
    buffer_finish(&text);
    return search.fault;
}
