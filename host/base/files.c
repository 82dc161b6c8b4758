/*
 * files.c - reads the files that documents name; file_open.c opens them.
 */
#include "host/base/files.h"
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder below which files may be read. */
struct files_root {
    char *given; /* absolute, without `.` and `..`; names are compared with it before anything is opened */
    char *real;  /* the same without links; NULL if it does not exist */
};

/* The roots for one read. */
struct files_scope {
    struct files_root *roots; /* the first one is that of the document, unless it has none */
    size_t count;
    bool packs;   /* files of installed packs are allowed, too */
    bool in_pack; /* the document is in a pack */
};

struct files {
    char *project, *packs; /* absolute; may be NULL */
    char **roots;          /* absolute */
    size_t root_count;
    struct files_grants grants;
    int32_t (*verify)(const char *path, const void *bytes, size_t length, struct error *error);
    files_locate *locate;
    void *locate_user;
};

/* ---- Paths as texts ---- */

/* The absolute path of `name`, which starts at `folder`, without `.`, `..` and double slashes. Does not look at files.
 */
static char *path_normal(const char *folder, const char *name) {
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    const char *parts[] = {name[0] == '/' ? "" : folder, name};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        for (const char *at = parts[i]; *at;) {
            size_t length = strcspn(at, "/");
            if (length == 2 && at[0] == '.' && at[1] == '.') {
                while (path.length && path.data[path.length - 1] != '/') path.length--;
                if (path.length) path.length--;
            } else if (length && !(length == 1 && at[0] == '.')) {
                buffer_format(&path, "/%.*s", (int)length, at);
            }
            at += length;
            at += strspn(at, "/");
        }
    }
    if (!path.length) buffer_char(&path, '/');
    char *result = mem_text_n(path.data, path.length);
    buffer_finish(&path);
    return result;
}

/* The part of `path` below `folder` ("" for the folder itself), or NULL. Both are absolute and have no `..`. */
static const char *path_below(const char *folder, const char *path) {
    if (!folder) return NULL;
    size_t length = folder[1] ? strlen(folder) : 0; /* every path is below "/" */
    if (strncmp(folder, path, length) != 0) return NULL;
    return path[length] == '/' ? path + length + 1 : path[length] == '\0' ? path + length : NULL;
}

static char *path_real(const char *path) {
    char resolved[PATH_MAX];
    return realpath(path, resolved) ? mem_text(resolved) : NULL;
}

char *files_folder_of(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? mem_text_n(file, slash == file ? 1 : (size_t)(slash - file)) : mem_text(".");
}

static char *path_absolute(const char *path) {
    char *here = path_real("."), *absolute = path_normal(here ? here : "/", path);
    mem_free(here);
    return absolute;
}

/* The canonical folder of a document. A stream (`/dev/stdin`, `<(…)`) counts as a file in the working directory. */
static char *document_folder(const char *document) {
    char *named = files_folder_of(document), *folder = path_real(named);
    mem_free(named);
    if (!folder || (strcmp(folder, "/dev") != 0 && !path_below("/proc", folder))) return folder;
    mem_free(folder);
    return path_real(".");
}

/* ---- The roots of a document ---- */

static void scope_add(struct files_scope *scope, const char *folder) {
    MEM_EXTEND(scope->roots, scope->count);
    struct files_root *root = &scope->roots[scope->count++];
    root->given = path_absolute(folder);
    root->real = path_real(root->given);
}

static void scope_add_visited(void *scope, const char *folder) { scope_add(scope, *folder ? folder : "."); }

static void scope_finish(struct files_scope *scope) {
    for (size_t i = 0; i < scope->count; i++) {
        mem_free(scope->roots[i].given);
        mem_free(scope->roots[i].real);
    }
    mem_free(scope->roots);
}

/* The folder NAME/VERSION of the installed pack that contains the canonical path; NULL if no pack does. */
static char *files_pack(const struct files *files, const char *path) {
    /* Most machines have no packs: to learn that takes one call, path_real one for each folder around. */
    struct stat found;
    char *packs = files->packs && stat(files->packs, &found) == 0 ? path_real(files->packs) : NULL;
    const char *below = path_below(packs, path);
    size_t name = below ? strcspn(below, "/") : 0, version = name && below[name] ? strcspn(below + name + 1, "/") : 0;
    char *pack = version ? mem_text_n(path, (size_t)(below - path) + name + 1 + version) : NULL;
    mem_free(packs);
    return pack;
}

/* The root of a document that a person names; `folder` is the canonical path of its folder. */
static char *files_own_root(const struct files *files, const char *folder) {
    char *pack = files_pack(files, folder);
    if (pack) return pack;
    char *project = files->project ? path_real(files->project) : NULL;
    if (path_below(project, folder)) return project;
    mem_free(project);
    return mem_text(folder);
}

/* Collects the roots for the files that `from` names. */
static void files_scope_of(const struct files *files, const struct source *from, const char *folder,
                           struct files_scope *scope) {
    enum source_origin origin = source_origin(from);
    bool of_input = origin == SOURCE_OF_INPUT;
    char *own = NULL;
    if (origin == SOURCE_OF_DOCUMENT || (of_input && source_root(from)))
        own = mem_text(source_root(from));
    else if (origin == SOURCE_OF_OPERATOR || of_input)
        own = files_own_root(files, folder);
    char *pack = own ? files_pack(files, own) : NULL;
    if (own) scope_add(scope, own);
    mem_free(own);
    scope->in_pack = pack != NULL;
    mem_free(pack);
    if (scope->in_pack) return;
    if (files->project && (of_input || origin == SOURCE_OF_PLUGIN)) scope_add(scope, files->project);
    if (origin == SOURCE_OF_PLUGIN) {
        if (files->grants.each_folder) files->grants.each_folder(files->grants.user, scope_add_visited, scope);
    }
    for (size_t i = 0; i < files->root_count; i++) scope_add(scope, files->roots[i]);
    scope->packs = origin != SOURCE_WITHOUT_FILE && source_view(from) != SOURCE_HIDDEN;
}

/* ---- Messages ---- */

/* The file is outside all roots: names the first one, and what to do. */
static void files_refuse(const struct files *files, const struct source *from, const struct files_scope *scope,
                         bool by_link, struct error *error) {
    const char *how = by_link ? "it is a link to a place" : "it is";
    const char *own = scope->count ? scope->roots[0].given : "";
    char *pack = NULL;
    if (source_origin(from) == SOURCE_WITHOUT_FILE && !scope->count)
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "the document that names it is not a file, and such a document reads no files unless `files: {roots: "
                  "[FOLDER]}` in tenon.yaml names their folder");
    else if (source_origin(from) == SOURCE_WITHOUT_FILE || source_view(from) == SOURCE_HIDDEN)
        error_set(
            error, TN_INVALID, "PERMISSION_DENIED",
            "%s outside the folders in `files.roots` of tenon.yaml, below which a document that is not a file may "
            "read; name its folder there to allow it",
            how);
    else if ((pack = files_pack(files, own)) != NULL)
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "%s outside the pack in %s, and a document of a pack reads only files of its pack", how, pack);
    else
        error_set(
            error, TN_INVALID, "PERMISSION_DENIED",
            "%s outside %s, below which %s may read; to allow it, name its folder in `files: {roots: [FOLDER]}` of "
            "tenon.yaml",
            how, *own ? own : "the folders in `files.roots`",
            source_origin(from) == SOURCE_OF_PLUGIN ? "documents of plugins" : "this document");
    mem_free(pack);
}

/* ---- Reading ---- */

/* Opens the canonical path below the root that contains it. Returns -1 with the error. */
static int files_open_in(const struct files *files, const struct source *from, const struct files_scope *scope,
                         const char *path, struct catalog_file *found, struct error *error) {
    const char *below = NULL;
    for (size_t i = 0; i < scope->count && !below; i++) {
        below = path_below(scope->roots[i].real, path);
        if (below) found->root = mem_text(scope->roots[i].real);
    }
    char *pack = files_pack(files, path);
    if (pack && scope->packs) { /* also below a root: a document of a pack reads only in its pack */
        mem_free(found->root);
        found->root = mem_text(pack);
    } else if (!below && source_origin(from) == SOURCE_OF_PLUGIN && files->grants.has_file &&
               files->grants.has_file(files->grants.user, path)) {
        found->root = files_folder_of(path);
    }
    mem_free(pack);
    if (!found->root) {
        files_refuse(files, from, scope, true, error);
        return -1;
    }
    return file_open_below(found->root, path_below(found->root, path), error);
}

/* True if the name is below a root, which is decided without looking at the file. */
static bool files_allow_name(const struct files *files, const struct source *from, const struct files_scope *scope,
                             const char *path) {
    for (size_t i = 0; i < scope->count; i++)
        if (path_below(scope->roots[i].given, path) || path_below(scope->roots[i].real, path)) return true;
    if (source_origin(from) == SOURCE_OF_PLUGIN && files->grants.has_file &&
        files->grants.has_file(files->grants.user, path))
        return true;
    char *packs = scope->packs && files->packs ? path_absolute(files->packs) : NULL, *real = NULL;
    bool allowed = packs && (path_below(packs, path) || path_below(real = path_real(packs), path));
    mem_free(packs);
    mem_free(real);
    return allowed;
}

/*
 * True if the name, which cannot be resolved, leads out by a link: then the message must not depend on what is there.
 * For a missing file, glibc returns the canonical path of what is missing.
 */
static bool files_leads_outside(const struct files *files, const struct source *from, const struct files_scope *scope,
                                const char *name) {
    char *path = mem_text(name), resolved[PATH_MAX] = "", *slash;
    while (!realpath(path, resolved) && (errno != ENOENT || resolved[0] != '/') && (slash = strrchr(path, '/'))) {
        *slash = '\0';
        resolved[0] = '\0';
    }
    mem_free(path);
    return resolved[0] == '/' && !files_allow_name(files, from, scope, resolved);
}

/* Opens `file`, which starts at `folder`. Returns -1 with the error. */
static int files_open_from(const struct files *files, const struct source *from, const struct files_scope *scope,
                           const char *folder, const char *file, struct catalog_file *found, struct error *error) {
    char *name = path_normal(folder, file);
    bool allowed = files_allow_name(files, from, scope, name);
    mem_free(name);
    if (!allowed) {
        files_refuse(files, from, scope, false, error);
        return -1;
    }
    tn_value joined = value_format("%s%s%s", file[0] == '/' ? "" : folder, file[0] == '/' ? "" : "/", file);
    int descriptor = -1;
    found->path = path_real(value_chars(joined, NULL));
    int failure = errno;
    if (found->path)
        descriptor = files_open_in(files, from, scope, found->path, found, error);
    else if (files_leads_outside(files, from, scope, value_chars(joined, NULL)))
        files_refuse(files, from, scope, true, error);
    else
        file_open_failed(failure, error);
    value_unref(joined);
    return descriptor;
}

bool files_is_graph_name(const char *name) { return strncmp(name, "graph:", 6) == 0; }

bool files_is_special_name(const char *name) {
    return strncmp(name, "pack:", 5) == 0 || strncmp(name, "tenon:", 6) == 0 || files_is_graph_name(name);
}

char *files_root_of(const struct files *files, const char *path) {
    char *folder = files_folder_of(path), *root = files_own_root(files, folder);
    mem_free(folder);
    return root;
}

/* Opens `pack:NAME/FILE`, `tenon:NAME` or `graph:NAME`. `scope` is NULL if the operator names it. Returns -1 with the
 * error. */
static int files_open_special(const struct files *files, const struct source *from, const struct files_scope *scope,
                              const char *name, struct catalog_file *found, struct error *error) {
    if (!files->locate) {
        error_set(error, TN_UNSUPPORTED, "UNSUPPORTED", "names of packs and of Tenon cannot be used here");
        return -1;
    }
    if (scope && files_is_graph_name(name)) {
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "only a client can name a served graph as `graph:NAME`; name the file of the document");
        return -1;
    }
    if (files->locate(files->locate_user, name, found, error) != TN_OK) return -1;
    char *pack = files_pack(files, found->path);
    bool own = pack && scope && scope->count && scope->roots[0].real && strcmp(scope->roots[0].real, pack) == 0;
    bool allowed = !pack || !scope || scope->packs || own;
    mem_free(pack);
    if (allowed) return file_open_below(found->root, path_below(found->root, found->path), error);
    files_refuse(files, from, scope, false, error);
    return -1;
}

/* Where names start: `folder` is that of the document. What a run got starts at the project, like the operator's. */
static const char *files_start(const struct files *files, const struct source *from, const struct files_scope *scope,
                               const char *folder) {
    bool of_project = source_origin(from) == SOURCE_OF_INPUT && files->project && !scope->in_pack;
    return of_project ? files->project : folder;
}

/* Opens a file that a document names. Names in a text that is not a file start at each root, until one has the file. */
static int files_open_for(const struct files *files, const struct source *from, const char *file,
                          struct catalog_file *found, struct error *error) {
    bool has_file = source_origin(from) != SOURCE_WITHOUT_FILE;
    char *folder = document_folder(has_file ? source_name(from) : "");
    struct files_scope scope = {NULL, 0, false, false};
    int descriptor = -1;
    if (folder) files_scope_of(files, from, folder, &scope);
    bool special = files_is_special_name(file);
    if (!folder)
        file_open_failed(ENOENT, error);
    else if (special)
        descriptor = files_open_special(files, from, &scope, file, found, error);
    else if (has_file || file[0] == '/' || !scope.count)
        descriptor = files_open_from(files, from, &scope, files_start(files, from, &scope, folder), file, found, error);
    for (size_t i = 0; descriptor < 0 && !has_file && !special && file[0] != '/' && i < scope.count; i++) {
        catalog_file_finish(found);
        error_finish(error);
        descriptor = files_open_from(files, from, &scope, scope.roots[i].given, file, found, error);
    }
    scope_finish(&scope);
    mem_free(folder);
    return descriptor;
}

/* Opens a file that the operator names, anywhere. */
static int files_open_named(const struct files *files, const char *file, struct catalog_file *found,
                            struct error *error) {
    if (files_is_special_name(file)) return files_open_special(files, NULL, NULL, file, found, error);
    found->path = path_real(file);
    if (!found->path) {
        file_open_failed(errno, error);
        return -1;
    }
    found->root = files_root_of(files, found->path);
    return file_open_below("/", found->path + 1, error);
}

tn_value files_read(void *files, const struct source *from, const char *file, struct catalog_file *found,
                    struct error *error) {
    int descriptor =
        from ? files_open_for(files, from, file, found, error) : files_open_named(files, file, found, error);
    tn_value text = descriptor >= 0 ? file_read_text(descriptor, FILES_LENGTH_MAX, error) : NULL;
    if (descriptor >= 0) close(descriptor);
    size_t length = 0;
    const char *bytes = text ? value_chars(text, &length) : NULL;
    const struct files *reader = files;
    if (text && reader->verify && reader->verify(found->path, bytes, length, error) != TN_OK) {
        value_unref(text);
        text = NULL;
    }
    if (!text) catalog_file_finish(found);
    return text;
}

/* ---- Listing ---- */

/* True if the canonical folder is below a root. */
static bool scope_has(const struct files_scope *scope, const char *path) {
    for (size_t i = 0; i < scope->count; i++)
        if (path_below(scope->roots[i].real, path)) return true;
    return false;
}

static void list_folder(const char *path, void (*visit)(void *user, const char *name, bool is_folder), void *user) {
    DIR *entries = opendir(path);
    const struct dirent *entry;
    for (size_t i = 0; entries && (entry = readdir(entries)) != NULL && i < FILES_LIST_MAX; i++) {
        struct stat status;
        if (entry->d_name[0] == '.' || fstatat(dirfd(entries), entry->d_name, &status, 0) != 0) continue;
        if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) visit(user, entry->d_name, S_ISDIR(status.st_mode));
    }
    if (entries) (void)closedir(entries);
}

void files_list(const void *files, const struct source *from, const char *folder,
                void (*visit)(void *user, const char *name, bool is_folder), void *user) {
    if (source_origin(from) == SOURCE_WITHOUT_FILE || files_is_special_name(folder)) return;
    char *base = document_folder(source_name(from));
    if (!base) return;
    struct files_scope scope = {NULL, 0, false, false};
    files_scope_of(files, from, base, &scope);
    char *named = path_normal(base, folder), *path = path_real(named);
    if (path && scope_has(&scope, path)) list_folder(path, visit, user);
    mem_free(named);
    mem_free(path);
    mem_free(base);
    scope_finish(&scope);
}

/* ---- Creating and freeing ---- */

struct files *files_new(const char *project, const char *packs, const struct files_grants *grants) {
    struct files *files = mem_zalloc(sizeof *files);
    files->project = project ? path_absolute(project) : NULL;
    files->packs = packs ? path_absolute(packs) : NULL;
    if (grants) files->grants = *grants;
    return files;
}

void files_set_locate(struct files *files, files_locate *locate, void *user) {
    files->locate = locate;
    files->locate_user = user;
}

void files_set_verify(struct files *files,
                      int32_t (*verify)(const char *path, const void *bytes, size_t length, struct error *error)) {
    files->verify = verify;
}

void files_add_root(struct files *files, const char *folder) {
    MEM_EXTEND(files->roots, files->root_count);
    files->roots[files->root_count++] = path_absolute(folder);
}

void files_free(struct files *files) {
    if (!files) return;
    for (size_t i = 0; i < files->root_count; i++) mem_free(files->roots[i]);
    mem_free((void *)files->roots);
    mem_free(files->project);
    mem_free(files->packs);
    mem_free(files);
}
