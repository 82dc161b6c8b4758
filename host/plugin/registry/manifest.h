/*
 * manifest.h - a plugin's manifest: merged from the ELF notes in its shared object, or read from the file beside it.
 *
 * The result is one value, {"plugin": {id, version, title, …}, "components": [{kind, id, title, style, …}, …]}. Reading
 * checks only the members that the host relies on, so a manifest with keys of a later version is accepted.
 * manifest_validate is the strict check, against sdk/schema/manifest.schema.json, for builds and `tenon plugin check`.
 *
 *     struct manifest manifest;
 *     if (manifest_read("acme.so", &manifest, &error) != TN_OK) return report(&error);
 *     const char *id = value_chars(value_get(manifest_plugin(manifest.value), "id"), NULL);
 *     manifest_finish(&manifest);
 *
 * Notes are merged object by object and key by key. The plugin's `requires`, `optional`, `provides`, `dynamic` and
 * `effects` are merged as sets. Components are merged by kind and id, or by id if a note omits the kind. Two notes that
 * contradict each other are an error.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_MANIFEST_H
#define TENON_HOST_PLUGIN_REGISTRY_MANIFEST_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define MANIFEST_NOTE_MAX       (1u << 20) /* bytes of one note */
#define MANIFEST_SIDECAR_MAX    (8u << 20) /* bytes of a <name>.tenon.json */
#define MANIFEST_DEPTH_MAX      64u        /* nesting of its JSON */
#define MANIFEST_COMPONENTS_MAX 10000u     /* components of one plugin */
#define MANIFEST_SET_MAX        1000u      /* members of a merged set */
#define MANIFEST_ID_MAX         200u       /* bytes of an id */
#define MANIFEST_PROBLEMS_MAX   100u       /* problems that manifest_validate reports */

struct manifest {
    tn_value value;         /* one reference */
    bool sidecar;           /* read from <name>.tenon.json */
    bool program;           /* a program that speaks the component protocol, instead of a shared object */
    uint64_t device, inode; /* identity of the shared object */
    /* Its notes, as manifest_pack_notes writes them, and its status after they were read. NULL if it has none. */
    char *notes;
    size_t notes_size;
    struct stat status;
};

/*
 * [any] Reads the manifest of the shared object `path` without running its code. For any other executable file (a
 * program that speaks the component protocol) the manifest is the file `path`.tenon.json. Fails with TN_NOT_FOUND and
 * the code MANIFEST_MISSING if the file has neither notes nor a sidecar and is therefore not a plugin; with
 * MANIFEST_INVALID if the manifest is wrong (the message names file, component and field); otherwise like elf_open.
 */
int32_t manifest_read(const char *path, struct manifest *out, struct error *error);
void manifest_finish(struct manifest *manifest);
/* [any] The path of the sidecar that a plugin file may have, to be freed with mem_free. */
char *manifest_sidecar(const char *path);
/* [any] True if manifest_read takes the file for a program: its name does not end in .so, and it has a sidecar. */
bool manifest_is_program(const char *path);

struct buffer;
struct elf_file;
/* [any] Appends the notes of a file in a form that manifest_of_notes reads. */
void manifest_pack_notes(struct buffer *out, const struct elf_file *file);
/* [any] The manifest of packed notes, as manifest_read returns it for the file `path`; *out is a new reference. */
int32_t manifest_of_notes(const char *path, const char *packed, size_t size, tn_value *out, struct error *error);

struct manifest_note {
    const char *text;
    size_t length;
};
/* [any] Merges and checks notes; *out is a new reference. `file` is for messages. */
int32_t manifest_merge(const char *file, const struct manifest_note *notes, size_t count, tn_value *out,
                       struct error *error);
/* [any] Checks a manifest from another source like manifest_read. */
int32_t manifest_check(const char *file, tn_value manifest, struct error *error);
/* [any] The same for one component. `place` is where it comes from, for messages: "acme.so: manifest". */
int32_t manifest_check_component(const char *place, tn_value component, struct error *error);

/* Reports every violation of the schema, and every error in its own schemas and examples. Returns their number. */
size_t manifest_validate(const char *file, tn_value manifest, void (*report)(void *user, const char *message),
                         void *user);
tn_value manifest_schema(void); /* the JSON Schema itself; a new reference */

/* Borrowed. */
static inline tn_value manifest_plugin(tn_value manifest) { return value_get(manifest, "plugin"); }
static inline tn_value manifest_components(tn_value manifest) { return value_get(manifest, "components"); }
/* A string member, or "" if it is missing. */
const char *manifest_text(tn_value object, const char *key);

#endif
