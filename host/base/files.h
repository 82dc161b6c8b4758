/*
 * files.h - reads the files that documents name: prompts, subgraphs. A document reads only below its root.
 *
 * The root of a document that a person names is
 *
 *     its pack        if it is in an installed pack; then nothing else is added
 *     the project     if it is below the folder of tenon.yaml
 *     its own folder  otherwise
 *
 * Added to it are `files.roots` of tenon.yaml, and installed packs. A document that another one names has the root in
 * which it was found. What a run's input names (SOURCE_OF_INPUT) has the root of the run's document and the project, at
 * which its name starts; in a pack only the pack. A text that is not a file has only `files.roots`, and names in it
 * start at these roots, in order. Absolute names, `..` and symbolic links are allowed as long as the file is below one
 * of the roots. A document from a pipe (`<stdin>`, /dev/stdin, /proc/self/fd/3) counts as a file of the working
 * directory.
 *
 *     struct files *files = files_new("/home/u/project", packs, NULL);
 *     files_add_root(files, "/srv/prompts");
 *     engine->catalog.read = files_read;
 *     engine->catalog.read_self = files;
 *
 * `pack:NAME/FILE` is a file of an installed pack, and `tenon:NAME` one that is installed with Tenon; the root of a
 * strategy is its own folder, in which `tenon:NAME/FILE` is another file. What a name means is decided by `locate`
 * (files_set_locate). Every document may name files of Tenon. Files of a pack may be named by those who may read them
 * by their path: the pack's own documents, and documents that are files outside packs.
 *
 * `graph:NAME` is a document that the operator serves (`serve.graphs` of tenon.yaml, `tenon serve FILE`). Clients name
 * it; a document cannot, because it could read the text of one that it must not see.
 *
 * The name is resolved first, and the resolved path, which has no links and no `..`, is then opened one step at a time
 * without following links. A link that is created in between makes the opening fail: it cannot lead out of the root.
 * Only regular files are opened, without blocking. A device that another process puts in the place of a regular file
 * is not opened, unless /proc cannot be used: then it is opened and closed, but never read.
 *
 * Thread: any, after the last files_add_root; except that only [loop] reads for a plugin.
 */
#ifndef TENON_HOST_BASE_FILES_H
#define TENON_HOST_BASE_FILES_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>

#define FILES_LENGTH_MAX (16u << 20) /* bytes of one file */

struct source;
struct files;

/* What a plugin may name beside `files.roots`, because the operator named it in the plugin's configuration. */
struct files_grants {
    /* Calls `visit` with each folder of a tenon.yaml that configures a plugin. */
    void (*each_folder)(void *user, void (*visit)(void *to, const char *folder), void *to);
    bool (*has_file)(void *user, const char *path); /* true if the configuration names the file itself */
    void *user;
};

/* The folder of a file; "." if the name has no folder. Free it with mem_free. */
char *files_folder_of(const char *file);

/*
 * `project` is the folder of tenon.yaml, or NULL. `packs` is the folder of installed packs, whose documents are in
 * NAME/VERSION below it, or NULL. `grants` may be NULL. All are copied.
 */
struct files *files_new(const char *project, const char *packs, const struct files_grants *grants);
/*
 * `verify` is called with the canonical path and the bytes of every file that was read; if it fails, the reading fails.
 * It recognizes altered files of packs. May be NULL.
 */
void files_set_verify(struct files *files,
                      int32_t (*verify)(const char *path, const void *bytes, size_t length, struct error *error));
/* Finds what `pack:NAME/FILE`, `tenon:NAME` or `graph:NAME` means: a canonical path, and the root of the file. */
typedef int32_t files_locate(void *user, const char *name, struct catalog_file *found, struct error *error);
void files_set_locate(struct files *files, files_locate *locate, void *user);
/* True if the name begins with `pack:`, `tenon:` or `graph:`. */
bool files_is_special_name(const char *name);
bool files_is_graph_name(const char *name); /* it begins with `graph:` */
/* The root of a document that the operator names by this canonical path; free it with mem_free. */
char *files_root_of(const struct files *files, const char *path);
void files_add_root(struct files *files, const char *folder); /* relative to the working directory; need not exist */
void files_free(struct files *files);                         /* NULL is allowed */

/*
 * Implements `read` of struct catalog; `files` is a struct files. Fails if the file is outside the roots, does not
 * exist, is not a regular file, is longer than FILES_LENGTH_MAX or is not UTF-8. Outside the roots the message does not
 * depend on whether the file exists.
 */
tn_value files_read(void *files, const struct source *from, const char *file, struct catalog_file *found,
                    struct error *error);

#define FILES_LIST_MAX 5000u /* entries of a folder that files_list visits */
/*
 * Visits the entries of a folder, named relative to the folder of the document `from`, in no particular order. Nothing
 * is visited if the document may not read there. Names that begin with a dot are left out. `files` is a struct files.
 */
void files_list(const void *files, const struct source *from, const char *folder,
                void (*visit)(void *user, const char *name, bool is_folder), void *user);

#endif
