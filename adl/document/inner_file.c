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

/* ---- Is it a document? ---- */

/* Keys of documents that a text has at its top. */
struct found_keys {
    bool nodes, version;
    unsigned others;
};
static const char *const other_keys[] = {"agent", "edges", "channels"};

/* Other programs have files with `nodes`, also beside a `version`. */
static bool are_of_document(const struct found_keys *found) {
    return found->nodes ? found->others > 0 : found->version && found->others >= 2;
}

static bool has_keys_of_document(const struct tree_node *root) {
    if (root->kind != TN_OBJECT) return false;
    struct found_keys found = {tree_get(root, "nodes") != NULL, tree_get(root, "version") != NULL, 0};
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
        found.others += tree_get(root, other_keys[i]) != NULL;
    return are_of_document(&found);
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

/* Keys of a text that is not read as YAML or JSON. */
struct key_text {
    const char *text;
    size_t length;
    bool braces; /* its first value is in braces: keys can be anywhere, otherwise only at the start of a line */
};

static struct key_text key_text_of(const struct source *source) {
    struct key_text in = {source_text(source), source_length(source), false};
    if (in.length >= 3 && memcmp(in.text, "\xEF\xBB\xBF", 3) == 0) in.text += 3, in.length -= 3;
    const char *at = in.text; /* NUL-terminated */
    while (isspace((unsigned char)*at) || *at == '#' || strncmp(at, "---", 3) == 0)
        at += isspace((unsigned char)*at) ? 1 : *at == '#' ? strcspn(at, "\r\n") : 3;
    in.braces = *at == '{';
    return in;
}

static bool in_name(char letter) { return letter == '_' || letter == '-' || isalnum((unsigned char)letter); }

static bool key_can_begin(const struct key_text *in, size_t at) {
    if (in->braces) return !at || !in_name(in->text[at - 1]);
    if (at && (in->text[at - 1] == '"' || in->text[at - 1] == '\'')) at--;
    return !at || in->text[at - 1] == '\n' || in->text[at - 1] == '\r';
}

/* True if a key that begins there can end at `at`. */
static bool key_can_end(const struct key_text *in, size_t at) {
    if (at < in->length && (in->text[at] == '"' || in->text[at] == '\'')) at++;
    while (at < in->length && in->text[at] == ' ') at++;
    return at < in->length && in->text[at] == ':';
}

static bool text_has_key(const struct key_text *in, const char *key) {
    size_t size = strlen(key), at = 0;
    const char *found;
    while ((found = memmem(in->text + at, in->length - at, key, size)) != NULL) {
        at = (size_t)(found - in->text);
        if (key_can_begin(in, at) && key_can_end(in, at + size)) return true;
        at++;
    }
    return false;
}

bool inner_file_looks_like_document(const struct source *source) {
    struct key_text in = key_text_of(source);
    struct found_keys found = {text_has_key(&in, "nodes"), text_has_key(&in, "version"), 0};
    for (size_t i = 0; i < sizeof other_keys / sizeof *other_keys; i++)
        found.others += text_has_key(&in, other_keys[i]);
    return are_of_document(&found);
}

/* Letters of either case. */
static bool text_has_word(const struct key_text *in, const char *word) {
    size_t size = strlen(word);
    for (size_t at = 0; at + size < in->length; at++)
        if (key_can_begin(in, at) && strncasecmp(in->text + at, word, size) == 0 && key_can_end(in, at + size))
            return true;
    return false;
}

static bool has_meant_words(const struct source *source) {
    struct key_text in = key_text_of(source);
    size_t found = 0;
    for (size_t k = 0; k < MEANT; k++) found += text_has_word(&in, meant[k]);
    return found >= 3;
}

bool inner_file_resembles_document(struct source *source) {
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    bool whole = diagnostics_errors(found) == 0;
    const struct tree_node *root = tree_root(tree);
    bool has_nodes = root->kind == TN_OBJECT && tree_get(root, "nodes");
    bool resembles =
        has_nodes || has_keys_of_document(root) || (whole ? has_meant_keys(root) : has_meant_words(source));
    tree_free(tree);
    diagnostics_free(found);
    return resembles;
}
