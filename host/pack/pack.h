/*
 * pack.h - a pack: plugins, documents, prompts, schemas and what else belongs to them, in one file, with a hash of
 * each.
 *
 * As a folder it is its files and `pack.json`:
 *
 *     {"name": "acme-text", "version": "1.2.0", "title": "Text tools of Acme", "licence": "MIT", "tenon": ">= 0.1",
 *      "plugins": ["plugins/acme.so"], "documents": ["triage.yaml"], "prompts": [], "schemas": [],
 *      "files": {"plugins/acme.so": "<sha256, 64 small hexadecimal digits>", "triage.yaml": "…"}}
 *
 * `files` names every file but pack.json and pack.sig, in order of their bytes; `tenon pack build` writes it. So a
 * signature of the exact bytes of pack.json covers all: `pack.sig` is {"algorithm": "ed25519", "key": base64,
 * "signature": base64}. Keys of pack.json that are not known here are left alone: a later Tenon may know them.
 *
 * As one file, NAME-VERSION.tenonpack, it is a ustar archive (archive.h): pack.json, pack.sig where it is signed, the
 * files in the order of `files`; nothing else, nothing twice, nothing left out. Whoever reads one knows the manifest
 * before the first file comes, and keeps none of it in memory.
 *
 *     struct pack *pack;
 *     if (pack_open("acme-text-1.2.0.tenonpack", &pack, &error) != TN_OK) return report(&error);
 *     status = pack_read_files(pack, &sink, &error);   // every byte comes by, and is checked; a sink may be NULL
 *     pack_close(pack);
 *
 * Signatures are not looked at here: libsodium is the program's, not the library's. Codes: PACK_INVALID for what is
 * wrong with a pack, LIMIT for what is larger than the bounds below, IO. Everything is [any thread].
 */
#ifndef TENON_HOST_PACK_H
#define TENON_HOST_PACK_H

#include "adl/value/error.h"
#include "adl/value/sha256.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_MANIFEST  "pack.json"
#define PACK_SIGNATURE "pack.sig"
#define PACK_SUFFIX    ".tenonpack"

#define PACK_NAME_MAX      64u                   /* bytes of a name, and of a version */
#define PACK_PATH_MAX      155u                  /* bytes of a file's path */
#define PACK_COMPONENT_MAX 100u                  /* bytes of one name in it */
#define PACK_FILES_MAX     10000u                /* files of a pack */
#define PACK_PLUGINS_MAX   100u                  /* of them plugins */
#define PACK_FILE_MAX      ((uint64_t)256 << 20) /* bytes of one file */
#define PACK_SIZE_MAX      ((uint64_t)1 << 30)   /* bytes of all files together */
#define PACK_MANIFEST_MAX  (4u << 20)            /* bytes of pack.json */
#define PACK_SIGNATURE_MAX (4u << 10)            /* bytes of pack.sig */

/* ---- The manifest ---- */

struct pack_manifest {
    tn_value value;         /* one reference; the rest points into it, but for the hash */
    char hash[SHA256_TEXT]; /* of the bytes of pack.json: the identity of the pack */
    const char *name, *version, *title;
    tn_value files, plugins; /* {path: hash}, [path]; plugins may be NULL */
};

/* The lists of paths that a manifest may have: "plugins", "documents", …; ends with NULL. */
extern const char *const pack_lists[];

/* `file` is what messages begin with. On failure *out is untouched. */
int32_t pack_manifest_read(const char *file, const char *text, size_t length, struct pack_manifest *out,
                           struct error *error);
void pack_manifest_finish(struct pack_manifest *manifest);
/* All but `files`, of which there need be none: what an author writes. An unknown key is an error here. */
int32_t pack_manifest_check_source(const char *file, tn_value value, struct error *error);
/* Whether the file is to be executable, which its plugins are and nothing else is. */
bool pack_is_plugin(const struct pack_manifest *manifest, const char *path);

/* Small letters, digits and dashes, a letter first. */
bool pack_name_valid(const char *name);
/* Three numbers without leading zeros, and perhaps a pre-release. */
bool pack_version_valid(const char *version);
/*
 * A path is relative, has one spelling, and leads nowhere else: names between single slashes, none of them empty or
 * beginning with a dot, UTF-8 without control characters and backslashes. Else *why says what is wrong with it.
 */
bool pack_path_valid(const char *path, size_t length, const char **why);

/* ---- The archive ---- */

struct pack;

/* Reads pack.json and pack.sig; on failure *out is untouched. */
int32_t pack_open(const char *path, struct pack **out, struct error *error);
/* The same of bytes in memory, which are borrowed; `name` is what messages begin with. */
int32_t pack_open_memory(const char *name, const void *bytes, size_t length, struct pack **out, struct error *error);
void pack_close(struct pack *pack); /* NULL is allowed */

/* Borrowed from the pack. */
const char *pack_file(const struct pack *pack); /* as it was given */
const struct pack_manifest *pack_manifest(const struct pack *pack);
const char *pack_manifest_text(const struct pack *pack, size_t *length);  /* its exact bytes */
const char *pack_signature_text(const struct pack *pack, size_t *length); /* NULL where it is not signed */

/* What comes by. Each returns a status; not TN_OK ends the reading with it. */
struct pack_sink {
    int32_t (*begin)(void *user, const char *path, uint64_t size, bool program, struct error *error);
    int32_t (*data)(void *user, const void *bytes, size_t length, struct error *error);
    int32_t (*end)(void *user, struct error *error); /* the file's hash was right */
    void *user;
};

/* Reads all files, once. `sink` NULL: they are checked alone. TN_OK means that all were there and right. */
int32_t pack_read_files(struct pack *pack, const struct pack_sink *sink, struct error *error);

#endif
