/*
 * format.c - `format_for_user`: a value as Markdown that people can read.
 *
 * What is simple stays on its line; what is not is indented below its name. A list of objects that all have the same
 * members is a table. Nothing is lost but what goes beyond the bound, and that is said.
 */
#include "text.h"

#define FORMAT_DEPTH_MAX   8  /* below that a value is shown as JSON */
#define FORMAT_COLUMNS_MAX 12 /* of a table */
#define FORMAT_INLINE_MAX  80 /* bytes of a list's items on one line */

static bool is_simple(tn_value value) {
    int32_t kind = tn.value->kind(value);
    return kind != TN_ARRAY && kind != TN_OBJECT;
}

/* Text in a line of a list or a cell: line ends become blanks, and a bar does not end the cell. */
static void add_line(struct text *out, const char *text, uint64_t length, bool cell) {
    uint64_t start = 0;
    for (uint64_t i = 0; i < length; i++) {
        bool bar = cell && text[i] == '|';
        if (text[i] != '\n' && text[i] != '\r' && !bar) continue;
        text_add(out, text + start, i - start);
        text_put(out, bar ? "\\|" : " ");
        start = i + 1;
    }
    text_add(out, text + start, length - start);
}

static void add_simple(struct text *out, tn_value value, bool cell) {
    uint64_t length = 0;
    int32_t truth = 0;
    const char *text = tn_chars(value, &length);
    switch (tn.value->kind(value)) {
    case TN_STRING: add_line(out, text, length, cell); return;
    case TN_NULL: text_put(out, "–"); return;
    case TN_BOOL:
        (void)tn.value->as_bool(value, &truth);
        text_put(out, truth ? "yes" : "no");
        return;
    case TN_BYTES: {
        char said[48];
        (void)tn.value->as_bytes(value, &length);
        (void)snprintf(said, sizeof said, "(%llu bytes)", (unsigned long long)length);
        text_put(out, said);
        return;
    }
    default: {
        tn_value json = tn.value->to_json(value);
        text = tn_chars(json, &length);
        if (text != NULL) add_line(out, text, length, cell);
        tn_release(json);
    }
    }
}

/* A list of a few simple values: on one line. */
static bool fits_line(tn_value list) {
    uint64_t used = 0, length;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value item = tn.value->at(list, i);
        length = 8;
        if (!is_simple(item)) return false;
        (void)tn.value->as_text(item, &length);
        used += length + 2;
    }
    return used <= FORMAT_INLINE_MAX;
}

static void add_line_of(struct text *out, tn_value list) {
    uint64_t count = tn.value->count(list);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) text_put(out, ", ");
        add_simple(out, tn.value->at(list, i), false);
    }
    if (count == 0) text_put(out, "–");
}

/* Objects that all have the first one's members, each of them simple. */
static bool is_table(tn_value list) {
    tn_value first = tn.value->at(list, 0);
    uint64_t columns = tn.value->count(first);
    if (tn.value->count(list) < 2 || tn.value->kind(first) != TN_OBJECT || columns == 0 || columns > FORMAT_COLUMNS_MAX)
        return false;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value row = tn.value->at(list, i);
        if (tn.value->kind(row) != TN_OBJECT || tn.value->count(row) != columns) return false;
        for (uint64_t j = 0; j < columns; j++) {
            tn_value key, value;
            (void)tn.value->entry(first, j, &key, NULL);
            value = tn.value->get(row, tn_chars(key, NULL));
            if (value == NULL || !is_simple(value)) return false;
        }
    }
    return true;
}

static void add_table(struct text *out, tn_value list) {
    tn_value first = tn.value->at(list, 0), key;
    uint64_t columns = tn.value->count(first);
    for (uint64_t j = 0; j < columns; j++) {
        (void)tn.value->entry(first, j, &key, NULL);
        text_put(out, "| ");
        add_simple(out, key, true);
        text_put(out, " ");
    }
    text_put(out, "|\n");
    for (uint64_t j = 0; j < columns; j++) text_put(out, "|---");
    text_put(out, "|\n");
    for (uint64_t i = 0, count = tn.value->count(list); i < count && !out->full; i++) {
        for (uint64_t j = 0; j < columns; j++) {
            (void)tn.value->entry(first, j, &key, NULL);
            text_put(out, "| ");
            add_simple(out, tn.value->get(tn.value->at(list, i), tn_chars(key, NULL)), true);
            text_put(out, " ");
        }
        text_put(out, "|\n");
    }
}

static void indent(struct text *out, int depth) {
    for (; depth > 0; depth--) text_put(out, "  ");
}

static void add_members(struct text *out, tn_value value, int depth);

/* What stands after a name, or a list's dash. */
static void add_value(struct text *out, tn_value value, int depth) {
    bool deep = depth >= FORMAT_DEPTH_MAX;
    if (is_simple(value) || deep) {
        if (deep && !is_simple(value)) {
            tn_value json = tn.value->to_json(value);
            add_simple(out, json, false);
            tn_release(json);
        } else {
            add_simple(out, value, false);
        }
        text_put(out, "\n");
    } else if (tn.value->kind(value) == TN_ARRAY && fits_line(value)) {
        add_line_of(out, value);
        text_put(out, "\n");
    } else {
        text_put(out, "\n");
        add_members(out, value, depth + 1);
    }
}

static void add_members(struct text *out, tn_value value, int depth) {
    bool object = tn.value->kind(value) == TN_OBJECT;
    for (uint64_t i = 0, count = tn.value->count(value); i < count && !out->full; i++) {
        tn_value key = NULL, item = NULL;
        indent(out, depth);
        text_put(out, "- ");
        if (object) {
            (void)tn.value->entry(value, i, &key, &item);
            text_put(out, "**");
            add_simple(out, key, false);
            text_put(out, "**: ");
        } else {
            item = tn.value->at(value, i);
        }
        add_value(out, item, depth);
    }
}

static void add_whole(struct text *out, tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (text != NULL) {
        text_add(out, text, length);
        if (length == 0 || text[length - 1] != '\n') text_put(out, "\n");
    } else if (is_simple(value)) {
        add_simple(out, value, false);
        text_put(out, "\n");
    } else if (tn.value->count(value) == 0) {
        text_put(out, "–\n");
    } else if (tn.value->kind(value) == TN_ARRAY && is_table(value)) {
        add_table(out, value);
    } else {
        add_members(out, value, 0);
    }
}

static int32_t format_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder;
    *self = NULL;
    return TN_OK;
}

static int32_t format_start(void *self, tn_task task, tn_value input) {
    static const char cut[] = "\n… (the rest is left out)\n";
    uint64_t limit = (uint64_t)tn_get_int(input, "max_bytes", 20000);
    tn_value title = tn.value->get(input, "title");
    struct text out = {.limit = limit - (sizeof cut - 1)};
    (void)self;
    if (tn.value->kind(title) == TN_STRING) {
        text_put(&out, "## ");
        add_simple(&out, title, false);
        text_put(&out, "\n\n");
    }
    add_whole(&out, tn.value->get(input, "value"));
    if (out.full) {
        out.full = false;
        out.limit = 0;
        text_put(&out, cut);
    }
    return tn_done_take(task, text_finish(&out));
}

TN_COMPONENT(format_for_user, "format_for_user", format_create, format_start, NULL, NULL, NULL)
