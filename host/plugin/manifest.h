/*
 * manifest.h - a plugin's manifest: the merge of the notes in its shared object, or the file beside it.
 *
 * The result is one value, {"plugin": {id, version, title, …}, "components": [{kind, id, title, style, …}, …]}. Reading
 * checks the members that the host itself relies on, and nothing else: a manifest with keys of a later version is read
 * all the same. manifest_validate is the strict look that builds and `tenon plugin check` take, against
 * sdk/schema/manifest.schema.json.
 *
 *     struct manifest manifest;
 *     if (manifest_read("acme.so", &manifest, &error) != TN_OK) return report(&error);
 *     const char *id = value_chars(value_get(manifest_plugin(manifest.value), "id"), NULL);
 *     manifest_finish(&manifest);
 *
 * Notes are merged object by object, key by key; `requires`, `optional`, `provides` and `dynamic` of the plugin as
 * sets; components by kind and id (by id alone where a note leaves the kind out). What two notes say differently is an
 * error.
 */
#ifndef TENON_HOST_PLUGIN_MANIFEST_H
#define TENON_HOST_PLUGIN_MANIFEST_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_NOTE_MAX       (1u << 20) /* bytes of one note */
#define MANIFEST_SIDECAR_MAX    (8u << 20) /* bytes of a <name>.tenon.json */
#define MANIFEST_DEPTH_MAX      64u        /* nesting of its JSON */
#define MANIFEST_COMPONENTS_MAX 10000u     /* components of one plugin */
#define MANIFEST_SET_MAX        1000u      /* members of a set that several notes make */
#define MANIFEST_ID_MAX         200u       /* bytes of an id */
#define MANIFEST_PROBLEMS_MAX   100u       /* problems that manifest_validate reports */

struct manifest {
    tn_value value;         /* one reference */
    bool sidecar;           /* read from <name>.tenon.json */
    bool program;           /* no shared object: a program that speaks the component protocol, by itself */
    uint64_t device, inode; /* of the shared object: its identity */
};

/*
 * Reads the manifest of the shared object `path`, running none of it; of any other executable file, which is a program
 * that speaks the component protocol, it is the file `path`.tenon.json. TN_NOT_FOUND with the code MANIFEST_MISSING:
 * there are neither notes nor a sidecar, so it is no plugin. MANIFEST_INVALID: what it says is wrong; the message has
 * the file, the component and the field. Else as elf_open. [any thread]
 */
int32_t manifest_read(const char *path, struct manifest *out, struct error *error);
void manifest_finish(struct manifest *manifest);

struct manifest_note {
    const char *text;
    size_t length;
};
/* The merge of notes, checked; a new reference. `file` is for messages. */
int32_t manifest_merge(const char *file, const struct manifest_note *notes, size_t count, tn_value *out,
                       struct error *error);
/* What manifest_read checks, of a manifest that was made in another way. */
int32_t manifest_check(const char *file, tn_value manifest, struct error *error);
/* The same of one component. */
int32_t manifest_check_component(const char *file, tn_value component, struct error *error);

/* Everything that is wrong with it, by the schema, in its schemas and in its examples. Returns how many there are. */
size_t manifest_validate(const char *file, tn_value manifest, void (*report)(void *user, const char *message),
                         void *user);
tn_value manifest_schema(void); /* the JSON Schema itself; a new reference */

/* Borrowed. */
static inline tn_value manifest_plugin(tn_value manifest) { return value_get(manifest, "plugin"); }
static inline tn_value manifest_components(tn_value manifest) { return value_get(manifest, "components"); }
/* A string member, or "" where there is none. */
const char *manifest_text(tn_value object, const char *key);

#endif
