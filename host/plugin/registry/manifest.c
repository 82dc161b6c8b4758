/*
 * manifest.c - reads a manifest from ELF notes or a sidecar, and checks what the host relies on.
 *
 * The checks are a table of members and their types. They are cheap enough to run at every start, for every plugin, and
 * later code relies on them. manifest_merge.c merges notes; manifest_validate.c is the strict check.
 */
#include "host/plugin/registry/manifest.h"
#include "adl/document/version.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/elf_note.h"
#include "host/plugin/registry/note_text.h"
#include "host/plugin/registry/preset.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *manifest_text(tn_value object, const char *key) {
    tn_value text = value_get(object, key);
    return value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

/* ---- Checking ---- */

enum member_type {
    MEMBER_TEXT,
    MEMBER_ID,
    MEMBER_VERSION,
    MEMBER_CONSTRAINT,
    MEMBER_BOOL,
    MEMBER_TEXTS,
    MEMBER_SCHEMA,
    MEMBER_STYLE,
    MEMBER_ISOLATION
};

struct manifest_member {
    const char *name;
    enum member_type type;
    bool required;
};

static const struct manifest_member plugin_members[] = {
    {"id", MEMBER_ID, true},
    {"version", MEMBER_VERSION, true},
    {"title", MEMBER_TEXT, true},
    {"description", MEMBER_TEXT, false},
    {"licence", MEMBER_TEXT, false},
    {"homepage", MEMBER_TEXT, false},
    {"tenon", MEMBER_CONSTRAINT, false},
    {"requires", MEMBER_TEXTS, false},
    {"optional", MEMBER_TEXTS, false},
    {"provides", MEMBER_TEXTS, false},
    {"dynamic", MEMBER_TEXTS, false},
    {"dynamic_from", MEMBER_TEXTS, false},
    {"effects", MEMBER_TEXTS, false},
    {"isolation", MEMBER_ISOLATION, false},
    {"one_process", MEMBER_BOOL, false},
    {"config", MEMBER_SCHEMA, false},
};

static const struct manifest_member component_members[] = {
    {"kind", MEMBER_ID, true},          {"id", MEMBER_ID, true},
    {"title", MEMBER_TEXT, true},       {"documentation", MEMBER_TEXT, false},
    {"style", MEMBER_STYLE, true},      {"reentrant", MEMBER_BOOL, false},
    {"idempotent", MEMBER_BOOL, false}, {"effects", MEMBER_TEXTS, false},
    {"config", MEMBER_SCHEMA, false},   {"input", MEMBER_SCHEMA, false},
    {"output", MEMBER_SCHEMA, false},   {"idempotency_key", MEMBER_BOOL, false},
};

/* True if a member is wrong; writes "found …, expected …" to `why`. */
static bool member_is_malformed(tn_value found, enum member_type type, char why[160]) {
    static const char *const expected[] = {
        [MEMBER_TEXT] = "a string that is not empty and has no U+0000",
        [MEMBER_ID] = "letters, digits, '.', '_' and '-', starting with a letter, at most 200 bytes",
        [MEMBER_VERSION] = "a version such as \"1.2.0\"",
        [MEMBER_CONSTRAINT] = "a constraint such as \">=0.1\"",
        [MEMBER_BOOL] = "true or false",
        [MEMBER_TEXTS] = "a list of strings that are not empty and have no U+0000",
        [MEMBER_SCHEMA] = "a JSON Schema: an object with at least one keyword",
        [MEMBER_STYLE] = "\"async\" or \"blocking\"",
        [MEMBER_ISOLATION] = "\"process\"",
    };
    size_t length = 0, at;
    const char *text = value_is(found, TN_STRING) ? value_chars(found, &length) : NULL;
    bool good = false;
    if (text && strlen(text) != length) text = NULL; /* it contains a NUL, but will be used as a C string */
    switch (type) {
    case MEMBER_TEXT: good = text && length > 0; break;
    case MEMBER_ID:
        good = text && length > 0 && length <= MANIFEST_ID_MAX &&
               strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length &&
               !strchr("0123456789._-", text[0]);
        break;
    case MEMBER_VERSION: good = text && version_parse(text, length, &(struct version){0}); break;
    case MEMBER_CONSTRAINT: good = text && constraint_holds(text, length, NULL, &at) >= 0; break;
    case MEMBER_BOOL: good = value_is(found, TN_BOOL); break;
    case MEMBER_TEXTS:
        good = value_is(found, TN_ARRAY);
        for (size_t i = 0; good && i < value_count(found); i++) {
            tn_value item = value_at(found, i);
            good = value_is(item, TN_STRING) && strlen(value_chars(item, &length)) == length && length > 0;
        }
        break;
    case MEMBER_SCHEMA: good = value_is(found, TN_OBJECT) && value_count(found) > 0; break;
    case MEMBER_ISOLATION: good = value_text_is(found, "process"); break;
    case MEMBER_STYLE: good = value_text_is(found, "async") || value_text_is(found, "blocking"); break;
    }
    if (good) return false;
    struct buffer buffer;
    buffer_init(&buffer, 48);
    if (value_is(found, TN_STRING) || value_is(found, TN_BOOL) || value_is_number(found))
        json_write(&buffer, found, JSON_COMPACT);
    bool shown = buffer.length > 0 && !buffer.overflow;
    snprintf(why, 160, "found %s, expected %s",
             shown                        ? buffer_cstr(&buffer)
             : value_is(found, TN_OBJECT) ? (value_count(found) ? "an object" : "{}")
             : value_is(found, TN_STRING) ? "a string"
                                          : value_kind_name(value_kind(found)),
             expected[type]);
    buffer_finish(&buffer);
    return true;
}

static int32_t manifest_check_members(const char *place, const char *where, tn_value object,
                                      const struct manifest_member *members, size_t count, struct error *error) {
    if (!value_is(object, TN_OBJECT))
        return error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: %s: found %s, expected an object", place, where,
                         value_kind_name(value_kind(object)));
    for (size_t i = 0; i < count; i++) {
        tn_value found = value_get(object, members[i].name);
        char why[160];
        if (!found && members[i].required)
            return error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: %s: `%s` is missing; add it", place, where,
                             members[i].name);
        if (found && member_is_malformed(found, members[i].type, why))
            return error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: %s: `%s`: %s", place, where, members[i].name,
                             why);
    }
    return TN_OK;
}

int32_t manifest_check_component(const char *place, tn_value component, struct error *error) {
    const char *id = manifest_text(component, "id"), *kind = manifest_text(component, "kind");
    tn_value where = *id ? value_format("component `%.200s`%s%.200s%s", id, *kind ? " (" : "", kind, *kind ? ")" : "")
                         : value_text("a component without an id");
    int32_t status = manifest_check_members(place, value_chars(where, NULL), component, component_members,
                                            sizeof component_members / sizeof *component_members, error);
    value_unref(where);
    return status == TN_OK ? preset_check(place, component, error) : status;
}

int32_t manifest_check(const char *file, tn_value manifest, struct error *error) {
    tn_value plugin = manifest_plugin(manifest), components = manifest_components(manifest);
    if (!plugin)
        return error_set(error, TN_INVALID, "MANIFEST_INVALID",
                         "%s: manifest: `plugin` is missing: no note has the plugin's id, version and title", file);
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "%s: manifest", file);
    const char *place = buffer_cstr(&text);
    int32_t status = manifest_check_members(place, "plugin", plugin, plugin_members,
                                            sizeof plugin_members / sizeof *plugin_members, error);
    if (status != TN_OK) goto out;
    if (components && !value_is(components, TN_ARRAY))
        status = error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: `components`: found %s, expected a list", place,
                           value_kind_name(value_kind(components)));
    else if (value_count(components) > MANIFEST_COMPONENTS_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT", "%s: found %zu components, expected at most %u", place,
                           value_count(components), MANIFEST_COMPONENTS_MAX);
    for (size_t i = 0; status == TN_OK && i < value_count(components); i++)
        status = manifest_check_component(place, value_at(components, i), error);
out:
    buffer_finish(&text);
    return status;
}

/* ---- Reading ---- */

char *manifest_sidecar(const char *path) {
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".so") == 0) length -= 3;
    struct buffer name;
    buffer_init(&name, SIZE_MAX);
    buffer_append(&name, path, length);
    buffer_text(&name, ".tenon.json");
    return buffer_detach(&name, NULL);
}

static int32_t manifest_read_sidecar(const char *plugin, tn_value *out, struct error *error) {
    char *path = manifest_sidecar(plugin), *text = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int32_t status;
    struct stat found;
    size_t length = 0;
    if (descriptor < 0) {
        status = error_set(error, TN_NOT_FOUND, "MANIFEST_MISSING",
                           "%s: not a plugin: it has no notes of owner Tenon, and %s does not exist", plugin, path);
        goto out;
    }
    if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
        status = error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: not a regular file", path);
        goto out;
    }
    if (found.st_size > (off_t)MANIFEST_SIDECAR_MAX) {
        status = error_set(error, TN_LIMIT, "LIMIT", "%s: found %lld bytes, expected at most %u", path,
                           (long long)found.st_size, MANIFEST_SIDECAR_MAX);
        goto out;
    }
    text = mem_alloc((size_t)found.st_size + 1);
    while (length < (size_t)found.st_size) {
        ssize_t got = read(descriptor, text + length, (size_t)found.st_size - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    status = manifest_merge(path, &(struct manifest_note){text, length}, 1, out, error);
out:
    if (descriptor >= 0) close(descriptor);
    mem_free(text);
    mem_free(path);
    return status;
}

static bool is_object_name(const char *path) {
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".so") == 0;
}

/* A program has no notes, so its manifest is a sidecar. */
static int32_t manifest_read_program(const char *path, struct manifest *out, struct error *error) {
    struct stat found;
    struct manifest manifest = {.sidecar = true, .program = true};
    if (stat(path, &found) != 0) return error_set(error, TN_NOT_FOUND, "IO", "%s: %s", path, strerror(errno));
    int32_t status = manifest_read_sidecar(path, &manifest.value, error);
    if (status != TN_OK) return status;
    if (!S_ISREG(found.st_mode) || access(path, X_OK) != 0) {
        manifest_finish(&manifest);
        return error_set(
            error, TN_INVALID, "PLUGIN_INVALID",
            "%s: it has a manifest beside it, but is neither a shared object (*.so) nor an executable file", path);
    }
    manifest.device = (uint64_t)found.st_dev;
    manifest.inode = (uint64_t)found.st_ino;
    *out = manifest;
    return TN_OK;
}

/* True if the file is not a *.so and has a manifest beside it. */
bool manifest_is_program(const char *path) {
    char *sidecar = is_object_name(path) ? NULL : manifest_sidecar(path);
    bool exists = sidecar && access(sidecar, F_OK) == 0;
    mem_free(sidecar);
    return exists;
}

/* ---- Notes: each is packed as its length, a uint32_t, and its text ---- */

void manifest_pack_notes(struct buffer *out, const struct elf_file *file) {
    for (size_t i = 0; i < elf_note_count(file); i++) {
        size_t length;
        const char *note = elf_note_at(file, i, &length);
        uint32_t size = (uint32_t)length; /* at most ELF_NOTES_SIZE_MAX */
        buffer_append(out, (const char *)&size, sizeof size);
        buffer_append(out, note, length);
    }
}

int32_t manifest_of_notes(const char *path, const char *packed, size_t size, tn_value *out, struct error *error) {
    struct manifest_note *notes = NULL;
    struct buffer *texts = NULL;
    size_t count = 0, capacity = 0;
    uint32_t length = 0;
    int32_t status = TN_OK;
    for (size_t at = 0; status == TN_OK && at < size; at += length) {
        bool whole = size - at >= sizeof length;
        if (whole) memcpy(&length, packed + at, sizeof length);
        at += sizeof length;
        if (!whole || length > size - at) {
            status = error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: the packed notes are damaged", path);
            break;
        }
        MEM_GROW(texts, count, capacity);
        buffer_init(&texts[count], SIZE_MAX);
        note_write_json(&texts[count++], packed + at, length);
    }
    notes = mem_array(NULL, count + 1, sizeof *notes);
    for (size_t i = 0; i < count; i++) notes[i] = (struct manifest_note){buffer_cstr(&texts[i]), texts[i].length};
    if (status == TN_OK) status = manifest_merge(path, notes, count, out, error);
    for (size_t i = 0; i < count; i++) buffer_finish(&texts[i]);
    mem_free(texts);
    mem_free(notes);
    return status;
}

int32_t manifest_read(const char *path, struct manifest *out, struct error *error) {
    struct elf_file *file;
    if (manifest_is_program(path)) return manifest_read_program(path, out, error);
    int32_t status = elf_open(path, &file, error);
    if (status != TN_OK) return status;
    struct manifest manifest = {.device = elf_device(file), .inode = elf_inode(file)};
    if (elf_note_count(file) > 0) {
        struct buffer notes;
        buffer_init(&notes, SIZE_MAX);
        manifest_pack_notes(&notes, file);
        status = manifest_of_notes(path, buffer_cstr(&notes), notes.length, &manifest.value, error);
        if (status == TN_OK && elf_status(file, &manifest.status))
            manifest.notes = buffer_detach(&notes, &manifest.notes_size);
        else
            buffer_finish(&notes);
    } else {
        manifest.sidecar = true;
        status = manifest_read_sidecar(path, &manifest.value, error);
    }
    elf_close(file);
    if (status == TN_OK) *out = manifest;
    return status;
}

void manifest_finish(struct manifest *manifest) {
    value_unref(manifest->value);
    mem_free(manifest->notes);
    manifest->value = NULL;
    manifest->notes = NULL;
}
