/*
 * complete_fixture.h - an assist for a text with a cursor, and the world around it, for the tests of adl/assist.
 *
 *     struct assist_place place;
 *     assist_place_init(&place, "doc.yaml", "nodes:\n  - id: ‸", NULL);
 *     struct assist_completions *list = assist_complete(place.assist, place.offset);
 *     assist_place_finish(&place);
 *
 * The version before it is the text without the line of the cursor, as if that line were being typed. Header-only.
 */
#ifndef TENON_TESTS_COMPLETE_FIXTURE_H
#define TENON_TESTS_COMPLETE_FIXTURE_H

#include "adl/assist/assist.h"
#include "adl/assist/complete.h"
#include "adl/assist/cursor.h"
#include "adl/value/buffer.h"
#include "tests/unit/manifest_catalog.h"

#define CURSOR_MARK "\xe2\x80\xb8" /* ‸ */

static inline void fixture_each_role(void *self, void (*visit)(void *user, const char *role, const char *model),
                                     void *user) {
    (void)self;
    visit(user, "fast", "openai:gpt-5-mini");
    visit(user, "default", "anthropic:claude");
}

static inline void fixture_each_file(void *self, const struct source *from, const char *folder,
                                     void (*visit)(void *user, const char *name, bool is_folder), void *user) {
    (void)self, (void)from;
    if (strcmp(folder, "") == 0) {
        visit(user, "other.yaml", false);
        visit(user, "notes.txt", false);
        visit(user, "prompts", true);
    } else if (strcmp(folder, "prompts/") == 0) {
        visit(user, "plan.md", false);
        visit(user, "write.md", false);
    }
}

static inline void fixture_each_document(void *self, void (*visit)(void *user, const char *name, const char *title),
                                         void *user) {
    (void)self;
    visit(user, "pack:acme/triage.yaml", "Sorts mails");
    visit(user, "tenon:single_turn", "One answer");
}

/* inner.yaml, a document that nodes can run. Other files do not exist. */
static inline tn_value fixture_read_file(void *self, const struct source *from, const char *file,
                                         struct catalog_file *found, struct error *error) {
    static const char inner[] = "version: \"1.0\"\n"
                                "agent: {name: inner}\n"
                                "channels:\n"
                                "  - {name: query, type: last_value, schema: {type: string}}\n"
                                "  - {name: found, type: append}\n"
                                "nodes: [{id: a, type: passthrough}]\n"
                                "edges: [{from: START, to: a}, {from: a, to: END}]\n";
    (void)self, (void)from;
    if (strcmp(file, "inner.yaml") != 0) {
        error_set(error, TN_NOT_FOUND, "IO", "no such file");
        return NULL;
    }
    *found = (struct catalog_file){mem_text(file), mem_text(".")};
    return value_text(inner);
}

/* The beginning of the texts of cases with the option `base`: they continue behind two nodes. */
static const char fixture_base[] =
    "version: \"1.0\"\n"
    "input: {type: object, properties: {topic: {type: string, description: The topic}}}\n"
    "models:\n"
    "  writer: openai:gpt-5-mini\n"
    "tools: [calc.add]\n"
    "channels:\n"
    "  - {name: score, type: last_value, schema: {type: number}}\n"
    "  - {name: user, type: last_value, schema: {type: object, properties: {name: {type: string, description: Who it "
    "is},"
    " age: {type: integer}}}}\n"
    "  - {name: mails, type: append, schema: {type: object, properties: {subject: {type: string}, size: {type: "
    "integer}}}}\n"
    "nodes:\n"
    "  - {id: judge, type: passthrough}\n"
    "  - {id: worker, type: passthrough}\n";

/* The text of a case: `base` puts the beginning in front, `crlf` sets the line ends. Free it with mem_free. */
static inline char *fixture_text(const struct corpus_case *test) {
    const char *options = corpus_section(test, "options"), *text = corpus_need(test, "text");
    bool crlf = options && strstr(options, "crlf");
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    const char *parts[] = {options && strstr(options, "base") ? fixture_base : "", text};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = parts[i]; *at; at++) {
            if (crlf && *at == '\n') buffer_char(&out, '\r');
            buffer_char(&out, *at);
        }
    buffer_char(&out, '\0');
    return buffer_detach(&out, NULL);
}

struct assist_place {
    struct assist *assist;
    uint32_t offset;
};

static inline struct assist *assist_of_text(const struct assist_world *world, const char *name, const char *text,
                                            size_t length, struct assist *before) {
    struct source *source = source_new(name, text, length);
    struct assist *assist = assist_new(source, world, before);
    source_unref(source);
    return assist;
}

/* The text contains the mark of the cursor once. */
static inline void assist_place_init(struct assist_place *place, const struct assist_world *world, const char *name,
                                     const char *text) {
    const char *mark = strstr(text, CURSOR_MARK);
    if (!mark) fail_msg("no cursor in: %s", text);
    size_t before = (size_t)(mark - text), line = before;
    while (line > 0 && text[line - 1] != '\n') line--;
    const char *rest = mark + strlen(CURSOR_MARK), *next = strchr(rest, '\n');
    struct buffer now, earlier;
    buffer_init(&now, SIZE_MAX);
    buffer_init(&earlier, SIZE_MAX);
    buffer_append(&now, text, before);
    buffer_text(&now, rest);
    buffer_append(&earlier, text, line);
    if (next) buffer_text(&earlier, next);
    struct assist *good = assist_of_text(world, name, buffer_cstr(&earlier), earlier.length, NULL);
    place->assist = assist_of_text(world, name, buffer_cstr(&now), now.length, good);
    place->offset = (uint32_t)before;
    assist_unref(good);
    buffer_finish(&now);
    buffer_finish(&earlier);
}

static inline void assist_place_finish(struct assist_place *place) { assist_unref(place->assist); }

/* What holds for every list. */
static inline void fixture_check_list(const struct assist_completions *list, const struct assist *assist,
                                      uint32_t offset) {
    size_t length = source_length(assist->source);
    uint32_t line = cursor_line_of(assist->source, offset);
    assert_true(list->count <= COMPLETE_ITEMS_MAX);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct assist_completion *item = &list->items[i];
        bool fits = item->span.start <= offset && offset <= item->span.end && item->span.end <= length &&
                    cursor_line_of(assist->source, item->span.start) == line &&
                    cursor_line_of(assist->source, item->span.end) == line;
        if (!fits)
            fail_msg("%s: at %u: `%s` replaces %u to %u", source_name(assist->source), offset, item->label,
                     item->span.start, item->span.end);
        assert_true(*item->label && item->text);
        if (i > 0) assert_true(strcmp(list->items[i - 1].sort, item->sort) <= 0);
    }
}

#endif
