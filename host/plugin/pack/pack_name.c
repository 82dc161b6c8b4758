/*
 * pack_name.c - see pack_name.h. Only names in `files` of pack.json are found, so a name cannot lead out of the pack.
 */
#include "host/plugin/pack/pack_name.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/pack/pack_installed.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool pack_is_name(const char *name) { return strncmp(name, PACK_NAME_PREFIX, strlen(PACK_NAME_PREFIX)) == 0; }

void pack_location_finish(struct pack_location *location) {
    mem_free(location->path);
    mem_free(location->root);
    *location = (struct pack_location){NULL, NULL};
}

struct pack_search {
    const char *whole; /* the name as it was written */
    tn_value name;     /* the pack's */
    const char *file;  /* "" if the name has none */
    struct pack_location *out;
    struct error *error;
    int32_t status; /* TN_AGAIN until the pack is found */
    tn_value names; /* of installed packs */
};

/* Lists the documents, prompts and schemas of the pack. */
static void pack_list_files(const struct installed_pack *pack, struct buffer *text) {
    size_t count = 0;
    for (const char *const *kind = pack_lists; *kind; kind++) {
        tn_value list = value_get(pack->manifest.value, *kind);
        if (strcmp(*kind, "plugins") == 0) continue;
        for (size_t i = 0; i < value_count(list); i++)
            buffer_format(text, "%s%s", count++ ? ", " : "", value_chars(value_at(list, i), NULL));
    }
    if (!count) buffer_text(text, "none");
}

static int32_t pack_file_not_found(const struct pack_search *search, const struct installed_pack *pack) {
    struct nearest near;
    struct buffer text;
    buffer_init(&text, 1024);
    nearest_init(&near, search->file, strlen(search->file));
    for (size_t i = 0; i < value_count(pack->manifest.files); i++) {
        const char *file = value_chars(value_key_at(pack->manifest.files, i), NULL);
        nearest_add_candidate(&near, file, strlen(file));
    }
    if (nearest_result(&near)) {
        buffer_text(&text, nearest_hint(&near).text);
    } else {
        buffer_text(&text, "; its documents, prompts and schemas: ");
        pack_list_files(pack, &text);
    }
    int32_t status = *search->file
                         ? error_set(search->error, TN_NOT_FOUND, "NOT_FOUND", "the pack %s %s has no file `%.200s`%s",
                                     pack->name, pack->version, search->file, buffer_cstr(&text))
                         : error_set(search->error, TN_INVALID, "INVALID_INPUT",
                                     "`%.200s` names a pack, expected " PACK_NAME_PREFIX "%s/FILE%s", search->whole,
                                     pack->name, buffer_cstr(&text));
    buffer_finish(&text);
    return status;
}

static void pack_search_visit(void *user, const struct installed_pack *pack) {
    struct pack_search *search = user;
    char root[PATH_MAX];
    search->names = value_push_take(search->names, value_text(pack->name));
    if (pack->version_in_use || !value_text_is(search->name, pack->name)) return;
    if (pack->fault.code) {
        error_copy(search->error, &pack->fault);
        search->status = TN_INVALID;
    } else if (!value_get(pack->manifest.files, search->file)) {
        search->status = pack_file_not_found(search, pack);
    } else if (!realpath(pack->folder, root)) {
        search->status = error_set(search->error, TN_NOT_FOUND, "IO", "%s cannot be opened", pack->folder);
    } else {
        tn_value path = value_format("%s/%s", root, search->file);
        *search->out = (struct pack_location){mem_text(value_chars(path, NULL)), mem_text(root)};
        value_unref(path);
        search->status = TN_OK;
    }
}

int32_t pack_locate(const char *name, const struct config *config, struct pack_location *out, struct error *error) {
    const char *start = name + strlen(PACK_NAME_PREFIX), *slash = strchr(start, '/');
    struct pack_search search = {.whole = name,
                                 .name = value_string_lossy(start, slash ? (size_t)(slash - start) : strlen(start)),
                                 .file = slash ? slash + 1 : "",
                                 .out = out,
                                 .error = error,
                                 .status = TN_AGAIN,
                                 .names = value_array()};
    packs_each(config, pack_search_visit, &search);
    if (search.status == TN_AGAIN) {
        struct nearest near;
        const char *wanted = value_chars(search.name, NULL);
        nearest_init(&near, wanted, strlen(wanted));
        for (size_t i = 0; i < value_count(search.names); i++) {
            const char *other = value_chars(value_at(search.names, i), NULL);
            nearest_add_candidate(&near, other, strlen(other));
        }
        search.status = error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the pack `%.64s` is not installed%s", wanted,
                                  nearest_result(&near) ? nearest_hint(&near).text
                                                        : "; `tenon pack list` shows the installed ones");
    }
    value_unref(search.name);
    value_unref(search.names);
    return search.status;
}
