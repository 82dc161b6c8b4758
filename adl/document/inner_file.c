/*
 * inner_file.c - the sources of files that documents name.
 */
#include "adl/document/inner_file.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/reader.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

void catalog_file_finish(struct catalog_file *file) {
    mem_free(file->path);
    mem_free(file->root);
    *file = (struct catalog_file){NULL, NULL};
}

tn_value read_named_file(struct reader *reader, const char *file, size_t length, struct catalog_file *found,
                         struct error *error) {
    struct session *session = reader->session;
    if (memchr(file, '\0', length)) {
        error_set(error, TN_INVALID, "IO", "its name contains a NUL character");
        return NULL;
    }
    if (session->file_bytes <= DOCUMENT_FILES_MAX) {
        tn_value text = reader->catalog->read(reader->catalog->read_self, reader->source, file, found, error);
        size_t bytes = 0;
        if (text) value_chars(text, &bytes);
        session->file_bytes += bytes;
        if (session->file_bytes <= DOCUMENT_FILES_MAX) return text;
        value_unref(text);
        catalog_file_finish(found);
    }
    error_finish(error);
    error_set(error, TN_LIMIT, "LIMIT", "the files that this document names have more than %u MiB in all",
              DOCUMENT_FILES_MAX >> 20);
    return NULL;
}

/* What a text without a file reaches is hidden, and so is everything that a hidden file reaches. */
static bool hides_its_files(const struct source *from) {
    return source_origin(from) == SOURCE_WITHOUT_FILE || source_view(from) == SOURCE_HIDDEN;
}

struct source *inner_file_source(const struct source *from, const struct catalog_file *found, tn_value text,
                                 enum source_view view) {
    size_t length;
    const char *bytes = value_chars(text, &length);
    if (length > SOURCE_LENGTH_MAX) return NULL;
    struct source *source = source_new(found->path, bytes, length);
    source_set_origin(source, from ? SOURCE_OF_DOCUMENT : SOURCE_OF_OPERATOR, found->root);
    source_set_view(source, from && hides_its_files(from) ? SOURCE_HIDDEN : view);
    return source;
}

static bool has_keys_of_document(const struct tree_node *root) {
    static const char *const beside_version[] = {"agent", "edges", "channels"};
    if (root->kind != TN_OBJECT) return false;
    if (tree_get(root, "nodes")) return true;
    size_t found = 0;
    for (size_t i = 0; i < sizeof beside_version / sizeof *beside_version; i++)
        found += tree_get(root, beside_version[i]) != NULL;
    return found >= 2 && tree_get(root, "version");
}

bool inner_file_is_document(struct source *source) {
    struct diagnostics *ignored = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, ignored);
    bool is_document = has_keys_of_document(tree_root(tree));
    tree_free(tree);
    diagnostics_free(ignored);
    return is_document;
}

/* Keys of a document, and mistakes in them that occur; the first is `version`. */
static const char *const meant[] = {"version", "agent", "channels", "channel", "nodes", "node", "edges", "edge"};
#define MEANT (sizeof meant / sizeof *meant)

static bool has_meant_keys(const struct tree_node *root) {
    size_t found = 0, version = 0;
    for (uint32_t i = 0; root->kind == TN_OBJECT && i < root->count; i++)
        for (size_t k = 0; k < MEANT; k++) {
            bool same = strcasecmp(value_chars(root->items[i].key, NULL), meant[k]) == 0;
            found += same && k > 0;
            version += same && k == 0;
        }
    return version + found >= 3;
}

static bool in_name(char letter) { return letter == '_' || letter == '-' || isalnum((unsigned char)letter); }

/* True if a key can begin here: at the start of a line, or anywhere in a text that begins with a brace. */
static bool key_can_begin(const char *text, size_t at, bool braces) {
    if (braces) return !at || !in_name(text[at - 1]);
    if (at && (text[at - 1] == '"' || text[at - 1] == '\'')) at--;
    return !at || text[at - 1] == '\n';
}

/* True if the text contains the word as a key, as far as that shows without reading the text as YAML or JSON. */
static bool text_has_key(const char *text, size_t length, const char *word) {
    size_t size = strlen(word), start = 0;
    while (start < length && isspace((unsigned char)text[start])) start++;
    bool braces = start < length && text[start] == '{';
    for (size_t at = 0; at + size < length; at++) {
        if (!key_can_begin(text, at, braces) || strncasecmp(text + at, word, size) != 0) continue;
        size_t end = at + size;
        if (text[end] == '"' || text[end] == '\'') end++;
        while (end < length && text[end] == ' ') end++;
        if (end < length && text[end] == ':') return true;
    }
    return false;
}

static bool has_meant_words(const struct source *source) {
    size_t found = 0;
    for (size_t k = 0; k < MEANT; k++) found += text_has_key(source_text(source), source_length(source), meant[k]);
    return found >= 3;
}

bool inner_file_resembles_document(struct source *source) {
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    bool whole = diagnostics_errors(found) == 0;
    bool resembles =
        has_keys_of_document(tree_root(tree)) || (whole ? has_meant_keys(tree_root(tree)) : has_meant_words(source));
    tree_free(tree);
    diagnostics_free(found);
    return resembles;
}
