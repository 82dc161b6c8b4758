/*
 * document.c - a description's files, and what references in them lead to.
 */
#include "document.h"
#include "yaml_file.h"
#include <stdio.h>
#include <stdlib.h>

static void say(const char *path, const char *what) {
    char message[1024];
    (void)snprintf(message, sizeof(message), "%s: %s", path, what);
    tn.core->log(tn.host, TN_LOG_ERROR, message);
}

/* ---- Files ---- */

static char *copy(const char *text, size_t length) {
    char *made = tn.core->alloc(tn.host, length + 1);
    if (made == NULL) return NULL;
    memcpy(made, text, length);
    made[length] = 0;
    return made;
}

/* The file, read when it is first asked for; one that cannot be read is kept as well, and told once. */
static const struct document *open_document(struct documents *documents, const char *path) {
    struct document *document;
    for (document = documents->first; document != NULL; document = document->next)
        if (strcmp(document->path, path) == 0) return document;
    if (documents->count >= DOCUMENT_FILES_MAX) return NULL;
    document = tn.core->alloc(tn.host, sizeof(*document));
    if (document == NULL) return NULL;
    *document = (struct document){documents->first, copy(path, strlen(path)), NULL, documents->count};
    if (document->path == NULL) {
        tn.core->release(tn.host, document);
        return NULL;
    }
    document->root = yaml_read_file(path);
    documents->first = document;
    documents->count++;
    return document;
}

bool documents_open(struct documents *documents, const char *path, struct place *root) {
    const struct document *document = open_document(documents, path);
    *root = (struct place){document, document != NULL ? document->root : NULL};
    return root->value != NULL;
}

void documents_finish(struct documents *documents) {
    while (documents->first != NULL) {
        struct document *document = documents->first;
        documents->first = document->next;
        tn_release(document->root);
        tn.core->release(tn.host, document->path);
        tn.core->release(tn.host, document);
    }
    documents->count = 0;
}

/* ---- References ---- */

/* One part of a JSON Pointer in a fragment: percent-decoded, then ~1 and ~0. */
static bool decode(struct text *out, const char *part, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = part[i], code[3] = {0};
        if (c == '%' && i + 2 < length) {
            char *end;
            memcpy(code, part + i + 1, 2);
            c = (char)strtol(code, &end, 16);
            if (*end != 0 || c == 0) return false;
            i += 2;
        }
        if (c == '~' && i + 1 < length && (part[i + 1] == '0' || part[i + 1] == '1')) c = part[++i] == '0' ? '~' : '/';
        text_add(out, &c, 1);
    }
    return !out->failed;
}

static tn_value step(tn_value value, const char *name) {
    char *end;
    if (tn.value->kind(value) != TN_ARRAY) return tn.value->get(value, name);
    unsigned long index = strtoul(name, &end, 10);
    return *name != 0 && *end == 0 ? tn.value->at(value, index) : NULL;
}

static tn_value follow(tn_value value, const char *pointer) {
    while (value != NULL && *pointer == '/') {
        size_t length = strcspn(++pointer, "/");
        struct text name = {.limit = 4096};
        value = decode(&name, pointer, length) ? step(value, text_chars(&name)) : NULL;
        text_free(&name);
        pointer += length;
    }
    return *pointer == 0 ? value : NULL;
}

static const struct document *beside(struct documents *documents, const struct document *from, const char *name,
                                     size_t length) {
    const char *slash = strrchr(from->path, '/');
    struct text path = {.limit = 4096};
    if (length == 0) return from;
    if (length > 8 && (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0)) return NULL;
    if (name[0] != '/' && slash != NULL) text_add(&path, from->path, (uint64_t)(slash - from->path + 1));
    (void)decode(&path, name, length);
    const struct document *found = path.failed ? NULL : open_document(documents, text_chars(&path));
    text_free(&path);
    return found;
}

struct place place_target(struct documents *documents, struct place place, const char *reference) {
    size_t length = strcspn(reference, "#");
    const struct document *document = beside(documents, place.document, reference, length);
    struct place found = {document, document != NULL ? document->root : NULL};
    if (found.value != NULL && reference[length] == '#') found.value = follow(found.value, reference + length + 1);
    if (found.value == NULL) {
        char message[512];
        (void)snprintf(message, sizeof(message), "the reference `%.300s` leads nowhere%s", reference,
                       strncmp(reference, "http", 4) == 0 ? ": references to the network are not followed" : "");
        say(place.document->path, message);
    }
    return found;
}

struct place place_resolve(struct documents *documents, struct place place) {
    for (uint32_t i = 0; i < DOCUMENT_REFS_MAX && place.value != NULL; i++) {
        const char *reference = tn_chars(tn.value->get(place.value, "$ref"), NULL);
        if (reference == NULL) return place;
        place = place_target(documents, place, reference);
    }
    return (struct place){place.document, NULL};
}

struct place place_get(struct documents *documents, struct place place, const char *key) {
    return place_resolve(documents, (struct place){place.document, tn.value->get(place.value, key)});
}

struct place place_at(struct documents *documents, struct place place, uint64_t index) {
    return place_resolve(documents, (struct place){place.document, tn.value->at(place.value, index)});
}
