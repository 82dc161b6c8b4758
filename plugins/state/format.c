/*
 * format.c - `format_for_user`: formats a value as Markdown for people.
 *
 * A simple value is on the line of its name; lists and objects are indented below the name. A list of objects with the
 * same members becomes a table. Text beyond `max_bytes` is left out, and the output says so.
 */
#include <tenon/util/build.h>
#include <tenon/util/text.h>

#define FORMAT_DEPTH_MAX   8  /* values at a deeper level are shown as JSON */
#define FORMAT_COLUMNS_MAX 12 /* columns of a table */
#define FORMAT_INLINE_MAX  80 /* bytes of a list's items on one line */

static bool format_is_simple(tn_value value) {
    int32_t kind = tn.value->kind(value);
    return kind != TN_ARRAY && kind != TN_OBJECT;
}

static void format_append(struct tn_text_buffer *out, const char *text) {
    (void)tn_text_append_cut(out, text, strlen(text));
}

/* Appends text to a line, or to a cell of a table. Line ends become spaces. In a cell, `|` is escaped. */
static void format_add_line(struct tn_text_buffer *out, const char *text, uint64_t length, bool cell) {
    uint64_t start = 0;
    for (uint64_t i = 0; i < length; i++) {
        bool bar = cell && text[i] == '|';
        if (text[i] != '\n' && text[i] != '\r' && !bar) continue;
        tn_text_append_cut(out, text + start, i - start);
        format_append(out, bar ? "\\|" : " ");
        start = i + 1;
    }
    tn_text_append_cut(out, text + start, length - start);
}

static void format_add_simple(struct tn_text_buffer *out, tn_value value, bool cell) {
    uint64_t length = 0;
    int32_t truth = 0;
    const char *text = tn_chars(value, &length);
    switch (tn.value->kind(value)) {
    case TN_STRING: format_add_line(out, text, length, cell); return;
    case TN_NULL: format_append(out, "–"); return;
    case TN_BOOL:
        (void)tn.value->as_bool(value, &truth);
        format_append(out, truth ? "yes" : "no");
        return;
    case TN_BYTES: {
        char label[48];
        (void)tn.value->as_bytes(value, &length);
        (void)snprintf(label, sizeof label, "(%llu bytes)", (unsigned long long)length);
        format_append(out, label);
        return;
    }
    default: {
        tn_value json = tn_to_json(value);
        text = tn_chars(json, &length);
        if (text != NULL) format_add_line(out, text, length, cell);
        tn_release(json);
    }
    }
}

/* True if all items are simple values and fit on one line. */
static bool format_fits_line(tn_value list) {
    uint64_t used = 0, length;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value item = tn.value->at(list, i);
        length = 8;
        if (!format_is_simple(item)) return false;
        (void)tn.value->as_text(item, &length);
        used += length + 2;
    }
    return used <= FORMAT_INLINE_MAX;
}

static void format_add_list_line(struct tn_text_buffer *out, tn_value list) {
    uint64_t count = tn.value->count(list);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0) format_append(out, ", ");
        format_add_simple(out, tn.value->at(list, i), false);
    }
    if (count == 0) format_append(out, "–");
}

/* True if all items are objects with the first one's members, and all values are simple. */
static bool format_is_table(tn_value list) {
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
            value = tn_get_key(row, key);
            if (value == NULL || !format_is_simple(value)) return false;
        }
    }
    return true;
}

static void format_add_table(struct tn_text_buffer *out, tn_value list) {
    tn_value first = tn.value->at(list, 0), key;
    uint64_t columns = tn.value->count(first);
    for (uint64_t j = 0; j < columns; j++) {
        (void)tn.value->entry(first, j, &key, NULL);
        format_append(out, "| ");
        format_add_simple(out, key, true);
        format_append(out, " ");
    }
    format_append(out, "|\n");
    for (uint64_t j = 0; j < columns; j++) format_append(out, "|---");
    format_append(out, "|\n");
    for (uint64_t i = 0, count = tn.value->count(list); i < count && out->status == TN_OK; i++) {
        for (uint64_t j = 0; j < columns; j++) {
            (void)tn.value->entry(first, j, &key, NULL);
            format_append(out, "| ");
            format_add_simple(out, tn_get_key(tn.value->at(list, i), key), true);
            format_append(out, " ");
        }
        format_append(out, "|\n");
    }
}

static void format_indent(struct tn_text_buffer *out, int depth) {
    for (; depth > 0; depth--) format_append(out, "  ");
}

static void format_add_members(struct tn_text_buffer *out, tn_value value, int depth);

/* Appends a value after the name of a member, or after the dash of a list item. */
static void format_add_value(struct tn_text_buffer *out, tn_value value, int depth) {
    bool deep = depth >= FORMAT_DEPTH_MAX;
    if (format_is_simple(value) || deep) {
        if (deep && !format_is_simple(value)) {
            tn_value json = tn_to_json(value);
            format_add_simple(out, json, false);
            tn_release(json);
        } else {
            format_add_simple(out, value, false);
        }
        format_append(out, "\n");
    } else if (tn.value->kind(value) == TN_ARRAY && format_fits_line(value)) {
        format_add_list_line(out, value);
        format_append(out, "\n");
    } else {
        format_append(out, "\n");
        format_add_members(out, value, depth + 1);
    }
}

static void format_add_members(struct tn_text_buffer *out, tn_value value, int depth) {
    bool object = tn.value->kind(value) == TN_OBJECT;
    for (uint64_t i = 0, count = tn.value->count(value); i < count && out->status == TN_OK; i++) {
        tn_value key = NULL, item = NULL;
        format_indent(out, depth);
        format_append(out, "- ");
        if (object) {
            (void)tn.value->entry(value, i, &key, &item);
            format_append(out, "**");
            format_add_simple(out, key, false);
            format_append(out, "**: ");
        } else {
            item = tn.value->at(value, i);
        }
        format_add_value(out, item, depth);
    }
}

static void format_add_text(struct tn_text_buffer *out, tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (text != NULL) {
        tn_text_append_cut(out, text, length);
        if (length == 0 || text[length - 1] != '\n') format_append(out, "\n");
    } else if (format_is_simple(value)) {
        format_add_simple(out, value, false);
        format_append(out, "\n");
    } else if (tn.value->count(value) == 0) {
        format_append(out, "–\n");
    } else if (tn.value->kind(value) == TN_ARRAY && format_is_table(value)) {
        format_add_table(out, value);
    } else {
        format_add_members(out, value, 0);
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
    tn_value title = tn_get(input, "title");
    struct tn_text_buffer out = {.limit = limit - (sizeof cut - 1)};
    (void)self;
    if (tn.value->kind(title) == TN_STRING) {
        format_append(&out, "## ");
        format_add_simple(&out, title, false);
        format_append(&out, "\n\n");
    }
    format_add_text(&out, tn_get(input, "value"));
    if (out.status == TN_LIMIT) {
        out.status = TN_OK;
        out.limit = 0;
        format_append(&out, cut);
    }
    return tn_done_take(task, tn_text_finish_cut(&out));
}

TN_COMPONENT(format_for_user, "format_for_user", format_create, format_start, NULL, NULL, NULL)
