/*
 * assist_fixture.h - a workspace of documents from the files of a corpus case, for tests of adl/assist/.
 *
 * A section whose name has a point is a file; the others ask for something. `‸` in a document is the cursor, two of
 * them are a selection; the first document with one is the focus, or else the first document. tenon.yaml is the
 * configuration. Header-only.
 *
 *     struct assist_fixture fixture;
 *     fixture_open(&fixture, test);
 *     struct assist_places *places = assist_definition(fixture.focus, fixture.cursor, &fixture.workspace);
 *     fixture_close(&fixture);
 */
#ifndef TENON_TESTS_ASSIST_FIXTURE_H
#define TENON_TESTS_ASSIST_FIXTURE_H

#include "adl/assist/symbol.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "tests/unit/corpus.h"
#include "tests/unit/fake_catalog.h"
#include <glob.h>

#define FIXTURE_DOCUMENTS_MAX 16
#define FIXTURE_MARK          "‸"

/* Components that the fake catalog lacks. */
static const struct {
    const char *kind, *id, *config;
} fixture_components[] = {
    {"node", "router",
     "{\"type\":\"object\",\"properties\":{\"targets\":{\"type\":\"object\",\"propertyNames\":{\"x-tenon\":\"node\"},"
     "\"additionalProperties\":{\"type\":\"string\"},\"minProperties\":2},\"default\":{\"type\":\"string\",\"x-tenon\":"
     "\"node\"},\"model\":{\"type\":\"string\",\"default\":\"default\",\"x-tenon\":\"model\"},\"prompt\":{\"type\":"
     "\"string\",\"x-tenon\":\"template\"},\"input_key\":{\"type\":\"string\",\"x-tenon\":\"channel-read\"}},"
     "\"required\":[\"targets\"],\"additionalProperties\":false}"},
    {"node", "agent",
     "{\"type\":\"object\",\"properties\":{\"messages_key\":{\"type\":\"string\",\"default\":\"messages\",\"allOf\":[{"
     "\"x-tenon\":\"channel-read\"},{\"x-tenon\":\"channel-write\"}]},\"history_key\":{\"type\":\"string\",\"default\":"
     "\"messages\",\"x-tenon\":\"channel-read\"}},\"additionalProperties\":false}"},
    {"node", "prompt",
     "{\"type\":\"object\",\"properties\":{\"template\":{\"type\":\"string\",\"x-tenon\":\"template\","
     "\"x-tenon-variables\":[]},\"output_key\":{\"type\":\"string\",\"x-tenon\":\"channel-write\",\"default\":"
     "\"prompt\"}},\"additionalProperties\":false}"},
};
#define FIXTURE_COMPONENTS (sizeof fixture_components / sizeof *fixture_components)

struct assist_fixture {
    struct fake_catalog fake;
    struct catalog catalog;
    struct component_info components[FIXTURE_COMPONENTS];
    struct component_info *manifests; /* of the plugins in this tree; see fixture_use_manifests */
    size_t manifest_count;
    struct assist_world world;
    struct assist_names *names[FIXTURE_DOCUMENTS_MAX];
    size_t count;
    struct tree *config;
    struct assist_workspace workspace;
    const struct assist_names *focus;
    uint32_t cursor, selection_end; /* both the same without a selection */
};

static inline const struct component_info *fixture_find(void *self, const char *kind, const char *id, size_t length) {
    const struct assist_fixture *fixture = (const struct assist_fixture *)self;
    for (size_t i = 0; i < FIXTURE_COMPONENTS && !fixture->manifests; i++) {
        const struct component_info *info = &fixture->components[i];
        if (strcmp(info->kind, kind) == 0 && strlen(info->id) == length && memcmp(info->id, id, length) == 0)
            return info;
    }
    for (size_t i = 0; i < fixture->manifest_count; i++) {
        const struct component_info *info = &fixture->manifests[i];
        if (strcmp(info->kind, kind) == 0 && strlen(info->id) == length && memcmp(info->id, id, length) == 0)
            return info;
    }
    return fake_catalog_find((void *)(uintptr_t)&fixture->fake, kind, id, length);
}

static inline void fixture_each(void *self, const char *kind, catalog_visit visit, void *user) {
    const struct assist_fixture *fixture = (const struct assist_fixture *)self;
    fake_catalog_each((void *)(uintptr_t)&fixture->fake, kind, visit, user);
}

/* Writes the path of `file` relative to the folder of `from`, without "..". */
static inline void fixture_join(const char *from, const char *file, char out[1024]) {
    const char *slash = strrchr(from, '/');
    char joined[1024];
    snprintf(joined, sizeof joined, "%.*s%s", slash && file[0] != '/' ? (int)(slash - from + 1) : 0, from, file);
    size_t length = 0;
    for (char *at = joined; *at;) {
        size_t part = strcspn(at, "/");
        bool up = part == 2 && strncmp(at, "..", 2) == 0, here = part == 1 && *at == '.';
        if (up) {
            if (length) length--;
            while (length && out[length - 1] != '/') length--;
        } else if (!here) {
            memcpy(out + length, at, part);
            length += part;
            if (at[part]) out[length++] = '/';
        }
        at += part + (at[part] != '\0');
    }
    out[length] = '\0';
}

static inline tn_value fixture_file(void *self, const struct source *from, const char *file, struct catalog_file *found,
                                    struct error *error) {
    const struct assist_fixture *fixture = (const struct assist_fixture *)self;
    char path[1024];
    fixture_join(source_name(from), file, path);
    for (size_t i = 0; i < fixture->fake.file_count; i++)
        if (strcmp(fixture->fake.files[i].path, path) == 0)
            return fake_catalog_found(value_ref(fixture->fake.files[i].text), path, found);
    tn_value text = fixture->fake.folder ? fake_catalog_read_disk(fixture->fake.folder, path) : NULL;
    if (!text) error_set(error, TN_NOT_FOUND, "IO", "no such file");
    return fake_catalog_found(text, path, found);
}

/* The configuration binds a role. */
static inline bool fixture_role_bound(void *self, const char *role, size_t length) {
    const struct assist_fixture *fixture = (const struct assist_fixture *)self;
    return assist_role_in_config(fixture->config, role, length) != NULL;
}

static inline bool fixture_is_name_of_file(const char *name) { return strchr(name, '.') && !strchr(name, ' '); }

/* Copies the text without its marks and sets their places. Returns the number of marks. */
static inline int fixture_unmark(const char *text, struct buffer *out, uint32_t marks[2]) {
    int count = 0;
    for (const char *at = text; *at;) {
        if (strncmp(at, FIXTURE_MARK, strlen(FIXTURE_MARK)) == 0 && count < 2) {
            marks[count++] = (uint32_t)out->length;
            at += strlen(FIXTURE_MARK);
        } else {
            buffer_char(out, *at++);
        }
    }
    return count;
}

static inline void fixture_init(struct assist_fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    fake_catalog_init(&fixture->fake);
    fixture->catalog = fixture->fake.catalog;
    fixture->catalog.self = fixture;
    fixture->catalog.find = fixture_find;
    fixture->catalog.each = fixture_each;
    fixture->catalog.usable = NULL;
    fixture->catalog.read = fixture_file;
    fixture->catalog.role_bound = fixture_role_bound;
    fixture->catalog.read_self = fixture->catalog.role_self = fixture;
    for (size_t i = 0; i < FIXTURE_COMPONENTS; i++)
        fixture->components[i] = (struct component_info){.id = fixture_components[i].id,
                                                         .kind = fixture_components[i].kind,
                                                         .title = "A component",
                                                         .documentation = "",
                                                         .plugin_id = "tenon.core",
                                                         .plugin_version = "1.2.0",
                                                         .manifest = value_object(),
                                                         .effects = value_array(),
                                                         .config = fake_schema(fixture_components[i].config)};
    fixture->world = (struct assist_world){.catalog = &fixture->catalog};
}

static inline void fixture_add_manifest(struct assist_fixture *fixture, tn_value component) {
    struct schema *schema = NULL;
    tn_value config = value_get(component, "config");
    if (!config || schema_compile(config, NULL, &schema, NULL) != TN_OK) return;
    MEM_EXTEND(fixture->manifests, fixture->manifest_count);
    fixture->manifests[fixture->manifest_count++] =
        (struct component_info){.id = mem_text(value_chars(value_get(component, "id"), NULL)),
                                .kind = mem_text(value_chars(value_get(component, "kind"), NULL)),
                                .title = "",
                                .documentation = "",
                                .plugin_id = "tenon.core",
                                .plugin_version = "1.2.0",
                                .manifest = value_ref(component),
                                .effects = value_array(),
                                .config = schema};
}

/* Uses the manifests in plugins/ instead of the components of the fixture. */
static inline void fixture_use_manifests(struct assist_fixture *fixture) {
    glob_t files;
    if (glob(TENON_SOURCE_DIR "/plugins/*/*.json", 0, NULL, &files) != 0) fail_msg("no manifests");
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t length;
        char *text = corpus_load(files.gl_pathv[i], &length);
        tn_value manifest = NULL;
        if (json_read(text, length, NULL, &manifest, NULL) == TN_OK && value_is(manifest, TN_OBJECT)) {
            tn_value one = value_get(manifest, "component"), all = value_get(manifest, "components");
            if (one) fixture_add_manifest(fixture, one);
            for (size_t k = 0; all && k < value_count(all); k++) fixture_add_manifest(fixture, value_at(all, k));
        }
        value_unref(manifest);
        free(text);
    }
    globfree(&files);
}

/* Reads a document and its names; the caller frees them. The file must be in the catalog. */
static inline struct assist_names *fixture_read(struct assist_fixture *fixture, const char *name, const char *text,
                                                size_t length) {
    struct source *source = source_new(name, text, length);
    struct assist *assist = assist_new(source, &fixture->world, NULL);
    struct assist_names *names = assist_names_new(assist);
    assist_unref(assist);
    source_unref(source);
    return names;
}

static inline void fixture_add(struct assist_fixture *fixture, const char *name, const char *text, size_t length) {
    if (fixture->count == FIXTURE_DOCUMENTS_MAX) fail_msg("too many documents");
    fixture->names[fixture->count++] = fixture_read(fixture, name, text, length);
    fixture->workspace.names = (const struct assist_names *const *)fixture->names;
    fixture->workspace.count = fixture->count;
}

static inline void fixture_set_config(struct assist_fixture *fixture, const char *text, size_t length) {
    struct diagnostics *found = diagnostics_new();
    struct source *source = source_new("tenon.yaml", text, length);
    fixture->config = tree_read(source, NULL, found);
    fixture->workspace.config = fixture->config;
    source_unref(source);
    diagnostics_free(found);
}

static inline bool fixture_is_document(const char *name) {
    const char *dot = strrchr(name, '.');
    return strcmp(name, "tenon.yaml") != 0 && dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".json") == 0);
}

static inline void fixture_open(struct assist_fixture *fixture, const struct corpus_case *test) {
    struct buffer texts[CORPUS_SECTIONS_MAX];
    uint32_t marks[CORPUS_SECTIONS_MAX][2];
    int found[CORPUS_SECTIONS_MAX];
    fixture_init(fixture);
    for (size_t i = 0; i < test->section_count; i++) {
        const struct corpus_section *section = &test->sections[i];
        buffer_init(&texts[i], SIZE_MAX);
        if (!fixture_is_name_of_file(section->name)) continue;
        found[i] = fixture_unmark(section->text, &texts[i], marks[i]);
        if (texts[i].length) buffer_char(&texts[i], '\n');
        if (strcmp(section->name, "tenon.yaml") == 0)
            fixture_set_config(fixture, buffer_cstr(&texts[i]), texts[i].length);
        fake_catalog_file(&fixture->fake, section->name, buffer_cstr(&texts[i]));
    }
    for (size_t i = 0; i < test->section_count; i++) {
        const char *name = test->sections[i].name;
        if (!fixture_is_name_of_file(name)) continue;
        if (!fixture_is_document(name)) continue;
        fixture_add(fixture, name, buffer_cstr(&texts[i]), texts[i].length);
        bool marked = found[i] > 0 && fixture->selection_end == 0 && fixture->cursor == 0;
        if (!fixture->focus || marked) fixture->focus = fixture->names[fixture->count - 1];
        if (!marked) continue;
        fixture->cursor = marks[i][0];
        fixture->selection_end = marks[i][found[i] > 1 ? 1 : 0];
    }
    for (size_t i = 0; i < test->section_count; i++) buffer_finish(&texts[i]);
    if (!fixture->focus) fail_msg("%s:%zu: no document", test->path, test->line);
}

static inline void fixture_close(struct assist_fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++) assist_names_free(fixture->names[i]);
    for (size_t i = 0; i < FIXTURE_COMPONENTS; i++) {
        struct schema *schema; /* memcpy removes the const */
        memcpy(&schema, &fixture->components[i].config, sizeof schema);
        schema_unref(schema);
        value_unref(fixture->components[i].manifest);
        value_unref(fixture->components[i].effects);
    }
    for (size_t i = 0; i < fixture->manifest_count; i++) {
        struct component_info *info = &fixture->manifests[i];
        schema_unref((struct schema *)(uintptr_t)info->config);
        value_unref(info->manifest);
        value_unref(info->effects);
        mem_free((char *)(uintptr_t)info->id);
        mem_free((char *)(uintptr_t)info->kind);
    }
    mem_free(fixture->manifests);
    tree_free(fixture->config);
    fake_catalog_finish(&fixture->fake);
}

/* Appends "a.yaml:3: text [span] text". A span of several lines ends with its first line and "…". */
static inline void fixture_print_span(struct buffer *out, const struct source *source, struct span span) {
    struct source_place place = source_locate(source, span.start);
    struct span line = source_line_span(source, place.line);
    const char *text = source_text(source);
    uint32_t end = span.end < line.end ? span.end : line.end;
    while (line.start < span.start && (text[line.start] == ' ')) line.start++;
    buffer_format(out, "%s:%u: %.*s[%.*s%s]%.*s\n", source_name(source), place.line + 1, (int)(span.start - line.start),
                  text + line.start, (int)(end - span.start), text + span.start, span.end > line.end ? "…" : "",
                  (int)(line.end - end), text + end);
}

#endif
