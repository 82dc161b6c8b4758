/*
 * builder_place.c - from a place in the JSON text of a built document to what the program has added there.
 *
 * The text is indented: a section begins a line of two spaces, an item of a list one of four spaces and a brace. Texts
 * in it contain no line breaks.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/buffer.h"
#include "host/embed/builder.h"
#include <string.h>

/* The first error in the source of this name, or NULL. */
static const struct diagnostic *first_error(const struct diagnostics *found, const char *name) {
    for (size_t i = 0; found && i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        if (diagnostic->severity != DIAGNOSTIC_ERROR) continue;
        return diagnostic->source && strcmp(source_name(diagnostic->source), name) == 0 ? diagnostic : NULL;
    }
    return NULL;
}

/* "`a`, `b`" from a text or a list of texts. */
static void write_names(struct buffer *out, tn_value names) {
    bool list = value_is(names, TN_ARRAY);
    for (size_t i = 0, n = list ? value_count(names) : 1; i < n; i++) {
        tn_value name = list ? value_at(names, i) : names;
        if (value_is(name, TN_STRING)) buffer_format(out, "%s`%s`", i ? ", " : "", value_chars(name, NULL));
    }
}

static void write_item(struct buffer *out, const char *section, tn_value item) {
    static const struct {
        const char *section, *what, *key;
    } lists[] = {{"edges", "the edge from ", "from"},
                 {"nodes", "the node ", "id"},
                 {"channels", "the channel ", "name"},
                 {"tools", "the tool ", "name"}};
    tn_value to = value_get(item, "to");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (strcmp(lists[i].section, section) != 0) continue;
        buffer_text(out, lists[i].what);
        write_names(out, value_get(item, lists[i].key));
    }
    if (strcmp(section, "edges") != 0 || !to) return;
    buffer_text(out, " to ");
    write_names(out, to);
}

/* The section and the index of the item at an offset of the text. Returns false before the first section. */
static bool find_place(const char *text, size_t offset, char section[32], size_t *item) {
    *section = '\0';
    for (const char *line = text; line && (size_t)(line - text) <= offset; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, "  \"", 3) == 0) {
            size_t length = strcspn(line + 3, "\"");
            if (length >= 32) return false;
            memcpy(section, line + 3, length);
            section[length] = '\0';
            *item = SIZE_MAX;
        } else if (strncmp(line, "    {", 5) == 0) {
            (*item)++;
        }
    }
    return *section != '\0';
}

/* An object of a list, counted without the texts in it, as find_place counts; or NULL. */
static tn_value nth_object(tn_value list, size_t index) {
    for (size_t i = 0, n = value_is(list, TN_ARRAY) ? value_count(list) : 0; i < n; i++)
        if (value_is(value_at(list, i), TN_OBJECT) && index-- == 0) return value_at(list, i);
    return NULL;
}

void builder_explain(tenon_builder *builder, const char *name, const char *text, tn_value document) {
    struct error *error = &builder->host->error;
    const struct diagnostic *diagnostic = first_error(builder->host->diagnostics, name);
    char section[32];
    size_t item = 0;
    if (!diagnostic || !error->message || !find_place(text, diagnostic->span.start, section, &item)) return;
    tn_value list = value_get(document, section);
    struct buffer place;
    buffer_init(&place, 400);
    if (nth_object(list, item))
        write_item(&place, section, nth_object(list, item));
    else
        buffer_format(&place, "the section `%s`", section);
    error_set(error, TN_INVALID, error->code, "%s; in %s", error->message, buffer_cstr(&place));
    buffer_finish(&place);
}
