/*
 * pack.h - a pack: plugins, documents, prompts, schemas and other files, in one file, with a hash of each.
 *
 * As a folder, a pack is its files and `pack.json`:
 *
 *     {"name": "acme-text", "version": "1.2.0", "title": "Text tools of Acme", "licence": "MIT", "tenon": ">= 0.1",
 *      "plugins": ["plugins/acme.so"], "documents": ["triage.yaml"], "prompts": [], "schemas": [],
 *      "files": {"plugins/acme.so": "<sha256, 64 lowercase hexadecimal digits>", "triage.yaml": "…"}}
 *
 * `files` lists every file except pack.json and pack.sig, sorted by their bytes; `tenon pack build` writes it.
 * Therefore a signature of the exact bytes of pack.json covers all files: `pack.sig` is {"algorithm": "ed25519", "key":
 * base64, "signature": base64}. Unknown keys of pack.json are ignored, because a later version of Tenon may define
 * them.
 *
 * As one file, NAME-VERSION.tenonpack, a pack is a ustar archive (archive.h): pack.json, pack.sig if it is signed, then
 * the files in the order of `files`; nothing else and nothing twice. A reader knows the manifest before the first file
 * arrives, and does not keep files in memory.
 *
 *     struct pack *pack;
 *     if (pack_open("acme-text-1.2.0.tenonpack", &pack, &error) != TN_OK) return report(&error);
 *     status = pack_read_files(pack, &sink, &error);   // checks every byte; the sink may be NULL
 *     pack_close(pack);
 *
 * Signatures are checked by pack_sign.h, because libtenon does not use libsodium. Error codes: PACK_INVALID if the pack
 * is invalid, LIMIT if it exceeds one of the bounds below, IO. Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_PACK_PACK_H
#define TENON_HOST_PLUGIN_PACK_PACK_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <tenon/util/sha256.h>

#define PACK_MANIFEST  "pack.json"
#define PACK_SIGNATURE "pack.sig"
#define PACK_SUFFIX    ".tenonpack"

#define PACK_NAME_MAX      64u                   /* bytes of a name or a version */
#define PACK_PATH_MAX      155u                  /* bytes of a file's path */
#define PACK_COMPONENT_MAX 100u                  /* bytes of one component of a path */
#define PACK_FILES_MAX     10000u                /* files of a pack */
#define PACK_PLUGINS_MAX   100u                  /* plugins of a pack */
#define PACK_FILE_MAX      ((uint64_t)256 << 20) /* bytes of one file */
#define PACK_SIZE_MAX      ((uint64_t)1 << 30)   /* bytes of all files together */
#define PACK_MANIFEST_MAX  (4u << 20)            /* bytes of pack.json */
#define PACK_SIGNATURE_MAX (4u << 10)            /* bytes of pack.sig */

/* ---- The manifest ---- */

struct pack_manifest {
    tn_value value;            /* one reference; the other members except `hash` point into it */
    char hash[TN_SHA256_TEXT]; /* hash of the exact bytes of pack.json; identifies the build */
    const char *name, *version, *title;
    tn_value files, plugins; /* {path: hash}, [path]; plugins may be NULL */
};

/* The lists of paths that a manifest may have: "plugins", "documents", …; ends with NULL. */
extern const char *const pack_lists[];

/* Parses and checks pack.json. `file` is the beginning of error messages. On failure *out is unchanged. */
int32_t pack_manifest_read(const char *file, const char *text, size_t length, struct pack_manifest *out,
                           struct error *error);
void pack_manifest_finish(struct pack_manifest *manifest);
/* Checks what an author writes: `files` may be missing, and an unknown key is an error. */
int32_t pack_manifest_check_source(const char *file, tn_value value, struct error *error);
/* True if the file is one of the plugins, which are the only executable files. */
bool pack_is_plugin(const struct pack_manifest *manifest, const char *path);

/* Lowercase letters, digits and dashes; begins with a letter. */
bool pack_name_valid(const char *name);
/* Three numbers without leading zeros, and optionally a pre-release. */
bool pack_version_valid(const char *version);
/*
 * A valid path is relative, canonical and inside the pack: names between single slashes, none of them empty or
 * beginning with a dot; UTF-8 without control characters and backslashes. Otherwise *why says what is wrong.
 */
bool pack_path_valid(const char *path, size_t length, const char **why);

/* ---- The archive ---- */

struct pack;

/* Opens a pack and reads pack.json and pack.sig. On failure *out is unchanged. */
int32_t pack_open(const char *path, struct pack **out, struct error *error);
/* Opens a pack in memory; the bytes are borrowed until pack_close. `name` is the beginning of error messages. */
int32_t pack_open_memory(const char *name, const void *bytes, size_t length, struct pack **out, struct error *error);
/* Reads an open file from its start, and closes it, also on failure. `name` is the beginning of error messages. */
int32_t pack_open_file_take(const char *name, FILE *file, struct pack **out, struct error *error);
void pack_close(struct pack *pack); /* NULL is allowed */

/* Borrowed from the pack. */
const char *pack_file(const struct pack *pack); /* the path or name that was opened */
const struct pack_manifest *pack_manifest(const struct pack *pack);
const char *pack_manifest_text(const struct pack *pack, size_t *length);  /* its exact bytes */
const char *pack_signature_text(const struct pack *pack, size_t *length); /* NULL if it is not signed */
/* The open file, whose offset is undefined; -1 for a pack in memory. Belongs to the pack. */
int pack_descriptor(const struct pack *pack);

/* Receives the files. A status other than TN_OK stops the reading and is returned. */
struct pack_sink {
    int32_t (*begin)(void *user, const char *path, uint64_t size, bool program, struct error *error);
    int32_t (*data)(void *user, const void *bytes, size_t length, struct error *error);
    int32_t (*end)(void *user, struct error *error); /* the hash was correct */
    void *user;
};

/*
 * Reads all files; may be called once. If `sink` is NULL, the files are only checked. TN_OK means that all files exist
 * and have the correct hash.
 */
int32_t pack_read_files(struct pack *pack, const struct pack_sink *sink, struct error *error);

#endif
