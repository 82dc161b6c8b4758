/*
 * lsp_index.c - finds, reads and checks the documents of workspace folders on a thread of libuv's pool.
 *
 * A job owns the list of files while it runs; the connection gets it back at the end. It first looks for files. If some
 * are new or have changed, the loop makes a world for each project (folder with a tenon.yaml) that they belong to, and
 * the job continues on a thread: it reads and checks these files. Requests that arrive meanwhile wait for the next job,
 * because a file may have been written after the job has looked at it.
 */
#include "host/server/lsp/lsp_index.h"
#include "adl/assist/names.h"
#include "adl/document/inner_file.h"
#include "adl/document/names.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_world.h"
#include "host/server/server.h"
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

struct indexed_file {
    char *path, *project; /* its nearest tenon.yaml, or NULL */
    struct timespec changed;
    off_t size;
    struct assist_names *names; /* NULL: it is not a document */
    bool reads;                 /* the document names other files */
    bool seen, due;             /* by the running job: it exists; it must be read */
    uint64_t result;            /* counts when it was read: the resultId of its diagnostics */
};

struct index_request {
    struct index_request *next;
    const struct lsp_row *row;
    struct peer_request *request;
    struct lsp *lsp;
};

/* A folder that is still to be looked at. */
struct index_folder {
    char *path;
    uint32_t depth;
    char *project; /* the nearest tenon.yaml, or NULL; when it is known */
    bool project_known;
};

/* What is outside the documents of a project. */
struct index_world {
    const char *project; /* of a file of the job; NULL: the server's */
    struct lsp_world *world;
};

struct index_job {
    uv_work_t work;
    struct lsp *lsp;
    char **roots;
    size_t root_count;
    struct indexed_file *files;
    size_t file_count;
    size_t entries;
    struct names paths;           /* of `files`, in the same order */
    bool stale;                   /* files of the last job are read again */
    bool touched;                 /* files have changed: those that name others are read again */
    struct index_folder *folders; /* a stack */
    size_t folder_count;
    struct index_world worlds[LSP_PROJECTS_MAX + 1]; /* the first is the server's: for further projects, too */
    size_t world_count;
    struct loop_work next; /* makes the next world */
    size_t next_file;
    bool reads; /* files; before, it looks for them */
};

struct lsp_index {
    struct indexed_file *files;
    size_t file_count;
    struct index_job *job;         /* the running one, or NULL */
    struct index_request *waiting; /* for the next job, the newest first */
    struct index_request *served;  /* by the running job */
    bool stale;                    /* read everything again */
    bool touched;                  /* lsp_index_touch */
};

/* ---- Files, on the thread ---- */

static void indexed_file_finish(struct indexed_file *file) {
    assist_names_free(file->names);
    mem_free(file->path);
    mem_free(file->project);
}

static struct indexed_file *job_find(struct index_job *job, const char *path) {
    int32_t index = names_find(&job->paths, path, strlen(path));
    return index >= 0 ? &job->files[index] : NULL;
}

/* Only regular files, without following a link. */
bool lsp_read_file(const char *path, size_t most, char **text, size_t *length) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    bool good = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                (uint64_t)status.st_size <= most;
    size_t size = good ? (size_t)status.st_size : 0, got = 0;
    char *content = good ? mem_alloc(size + 1) : NULL;
    ssize_t count;
    while (good && got < size && (count = read(descriptor, content + got, size - got)) > 0) got += (size_t)count;
    if (descriptor >= 0) (void)close(descriptor);
    if (!good) return false;
    *text = content;
    *length = got;
    return true;
}

/* Returns NULL if it cannot be read. */
static struct source *read_source(const char *path) {
    char *text;
    size_t length;
    if (!lsp_read_file(path, TREE_SIZE_MAX, &text, &length)) return NULL;
    struct source *source = source_new(path, text, length);
    mem_free(text);
    return source;
}

/* *reads becomes true if the document has asked for other files. */
static struct assist_names *read_names(const struct lsp_world *world, const char *path, bool *reads) {
    struct source *source = read_source(path);
    struct assist_names *names = NULL;
    size_t before = lsp_world_reads(world);
    if (source && inner_file_looks_like_document(source)) {
        struct assist *assist = assist_new(source, lsp_world_assist(world), NULL);
        names = assist_names_new(assist);
        assist_unref(assist);
    }
    source_unref(source);
    *reads = lsp_world_reads(world) != before;
    return names;
}

/* The project is that of the file's folder, or NULL. */
static void job_take_file(struct index_job *job, const char *path, const struct stat *status, const char *project) {
    struct indexed_file *file = job_find(job, path);
    if (!file) {
        if (job->file_count >= LSP_INDEX_FILES_MAX) return;
        MEM_EXTEND(job->files, job->file_count);
        assert(job->files);
        file = &job->files[job->file_count++];
        *file = (struct indexed_file){.path = mem_text(path), .size = -1};
        (void)names_add(&job->paths, file->path, strlen(file->path));
    }
    bool moved = !lsp_same_project(file->project, project);
    file->seen = true;
    file->due = moved || file->size != status->st_size || file->changed.tv_sec != status->st_mtim.tv_sec ||
                file->changed.tv_nsec != status->st_mtim.tv_nsec;
    file->size = status->st_size;
    file->changed = status->st_mtim;
    if (!moved) return;
    mem_free(file->project);
    file->project = project ? mem_text(project) : NULL;
}

static bool has_ending(const char *name, const char *ending) {
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && strcmp(name + length - wanted, ending) == 0;
}

/* Takes `path`. */
static void job_push_folder(struct index_job *job, char *path, uint32_t depth) {
    MEM_EXTEND(job->folders, job->folder_count);
    job->folders[job->folder_count++] = (struct index_folder){.path = path, .depth = depth};
}

static const char *folder_project(struct index_folder *folder) {
    if (!folder->project_known) folder->project = lsp_project_of_folder(folder->path);
    folder->project_known = true;
    return folder->project;
}

static void job_take_entry(struct index_job *job, struct index_folder *folder, const char *name) {
    struct buffer path;
    struct stat status;
    buffer_init(&path, SIZE_MAX);
    buffer_format(&path, "%s/%s", folder->path[1] ? folder->path : "", name); /* "/" */
    bool yaml = has_ending(name, ".yaml") || has_ending(name, ".yml") || has_ending(name, ".json");
    if (lstat(buffer_cstr(&path), &status) != 0) {
        buffer_finish(&path);
        return;
    }
    if (S_ISREG(status.st_mode) && yaml && !lsp_is_config_path(name)) {
        job_take_file(job, buffer_cstr(&path), &status, folder_project(folder));
    } else if (S_ISDIR(status.st_mode) && folder->depth < LSP_INDEX_DEPTH_MAX && strcmp(name, "node_modules") != 0 &&
               strcmp(name, "build") != 0) {
        job_push_folder(job, buffer_detach(&path, NULL), folder->depth + 1);
    }
    buffer_finish(&path);
}

/* Not through a link, which could have taken the place of the folder. */
static DIR *open_folder(const char *path) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (descriptor >= 0 && !entries) (void)close(descriptor);
    return entries;
}

static void job_read_folder(struct index_job *job, struct index_folder *folder) {
    DIR *entries = open_folder(folder->path);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries)) != NULL && job->entries < LSP_INDEX_ENTRIES_MAX) {
        job->entries++;
        if (entry->d_name[0] != '.') job_take_entry(job, folder, entry->d_name);
    }
    if (entries) (void)closedir(entries);
}

/* The files of the last job. */
static void job_prepare(struct index_job *job) {
    if (job->stale) {
        for (size_t i = 0; i < job->file_count; i++) indexed_file_finish(&job->files[i]);
        job->file_count = 0;
    }
    for (size_t i = 0; i < job->file_count; i++) {
        job->files[i].seen = false;
        (void)names_add(&job->paths, job->files[i].path, strlen(job->files[i].path));
    }
}

/* Those that are gone. */
static void job_forget_files(struct index_job *job) {
    size_t kept = 0;
    names_finish(&job->paths);
    for (size_t i = 0; i < job->file_count; i++) {
        if (job->files[i].seen) {
            job->files[kept++] = job->files[i];
        } else {
            indexed_file_finish(&job->files[i]);
            job->touched = true;
        }
    }
    job->file_count = kept;
}

/* A document that names others is checked again if one of them may have changed. */
static void job_add_readers(struct index_job *job) {
    for (size_t i = 0; i < job->file_count; i++) job->touched = job->touched || job->files[i].due;
    for (size_t i = 0; i < job->file_count && job->touched; i++)
        job->files[i].due = job->files[i].due || job->files[i].reads;
}

static void job_find_files(struct index_job *job) {
    job_prepare(job);
    for (size_t i = 0; i < job->root_count; i++) { /* canonical, as the paths of open documents are */
        char resolved[PATH_MAX];
        if (realpath(job->roots[i], resolved)) job_push_folder(job, mem_text(resolved), 0);
    }
    while (job->folder_count > 0) {
        struct index_folder folder = job->folders[--job->folder_count];
        job_read_folder(job, &folder);
        mem_free(folder.path);
        mem_free(folder.project);
    }
    job_forget_files(job);
    job_add_readers(job);
}

static const struct lsp_world *job_world(const struct index_job *job, const char *project) {
    size_t i = 0;
    while (i < job->world_count && !lsp_same_project(job->worlds[i].project, project)) i++;
    return job->worlds[i < job->world_count ? i : 0].world;
}

static void job_read_files(struct index_job *job) {
    size_t size = 0;
    for (size_t i = 0; i < job->file_count; i++) {
        struct indexed_file *file = &job->files[i];
        if (file->due) {
            assist_names_free(file->names);
            bool fits = size + (size_t)file->size <= LSP_INDEX_SIZE_MAX;
            file->names = fits ? read_names(job_world(job, file->project), file->path, &file->reads) : NULL;
        }
        if (file->names) size += (size_t)file->size;
    }
}

/* [worker] */
static void index_run(uv_work_t *work) {
    struct index_job *job = work->data;
    if (job->reads)
        job_read_files(job);
    else
        job_find_files(job);
}

/* ---- Jobs ---- */

static void job_free(struct index_job *job) {
    for (size_t i = 0; i < job->root_count; i++) mem_free(job->roots[i]);
    for (size_t i = 0; i < job->world_count; i++) lsp_world_unref(job->worlds[i].world);
    mem_free((void *)job->roots);
    mem_free(job->folders);
    mem_free(job);
}

static void files_free(struct indexed_file *files, size_t count) {
    for (size_t i = 0; i < count; i++) indexed_file_finish(&files[i]);
    mem_free(files);
}

static bool all_texts_are_ready(const struct lsp *lsp) {
    const struct lsp_text *text = lsp->texts;
    while (text && lsp_text_is_ready(text)) text = text->next;
    return !text;
}

static void answer_served(struct lsp *lsp) {
    while (lsp->index->served) {
        struct index_request *one = lsp->index->served;
        lsp->index->served = one->next;
        peer_request_hold(one->request, NULL, NULL);
        if (all_texts_are_ready(lsp))
            lsp_row_answer(lsp, one->row, one->request);
        else
            lsp_row_start(lsp, one->row, one->request);
        mem_free(one);
    }
}

static void index_start(struct lsp *lsp);

/* Ends the job: its requests are answered, and the next one starts if others wait. */
static void job_finish(struct index_job *job) {
    struct lsp *lsp = job->lsp;
    lsp->index->job = NULL;
    lsp->index->files = job->files;
    lsp->index->file_count = job->file_count;
    for (size_t i = 0; i < job->file_count; i++)
        if (job->files[i].due) job->files[i].result = ++lsp->last_result;
    job_free(job);
    lsp_hosts_end_check(lsp->hosts);
    if (lsp->closing) {
        lsp_finish_closing(lsp);
        return;
    }
    answer_served(lsp);
    if (lsp->index->waiting && !lsp->index->job) index_start(lsp);
}

static void index_done(uv_work_t *work, int status);

static void job_queue(struct index_job *job) {
    (void)uv_queue_work(loop_uv(server_loop(connection_server(job->lsp->connection))), &job->work, index_run,
                        index_done);
}

/* Returns false if there is one already, or no room: then the first one is used. */
static bool job_add_world(struct index_job *job, const char *project) {
    for (size_t i = 0; i < job->world_count; i++)
        if (lsp_same_project(job->worlds[i].project, project)) return false;
    if (job->world_count > LSP_PROJECTS_MAX) return false;
    struct lsp_world *world = lsp_hosts_world_of_project(job->lsp->hosts, job->lsp, project);
    job->worlds[job->world_count++] = (struct index_world){project, world};
    return true;
}

/* Makes the worlds of the files that are due: one in a turn of the loop, because a host that is opened takes a while.
 */
static void job_add_worlds(struct loop_work *next) {
    struct index_job *job = CONTAINER_OF(next, struct index_job, next);
    bool closing = job->lsp->closing; /* the connection is freed, too */
    while (job->next_file < job->file_count && !closing) {
        const struct indexed_file *file = &job->files[job->next_file++];
        if (!file->due) continue;
        if (job->world_count == 0) (void)job_add_world(job, NULL);
        if (job_add_world(job, file->project)) {
            loop_defer(server_loop(connection_server(job->lsp->connection)), next);
            return;
        }
    }
    job->reads = job->world_count > 0 && !closing;
    if (job->reads)
        job_queue(job);
    else
        job_finish(job);
}

static void index_done(uv_work_t *work, int status) {
    struct index_job *job = work->data;
    (void)status;
    if (job->reads)
        job_finish(job);
    else
        job_add_worlds(&job->next);
}

static void index_start(struct lsp *lsp) {
    struct lsp_index *index = lsp->index;
    struct index_job *job = mem_zalloc(sizeof *job);
    job->work.data = job;
    job->next.run = job_add_worlds;
    job->stale = index->stale;
    job->touched = index->touched;
    index->stale = index->touched = false;
    job->lsp = lsp;
    job->files = index->files;
    job->file_count = index->file_count;
    job->root_count = value_count(lsp->folders);
    job->roots = mem_array(NULL, job->root_count + 1, sizeof *job->roots);
    for (size_t i = 0; i < job->root_count; i++) job->roots[i] = mem_text(value_chars(value_at(lsp->folders, i), NULL));
    index->files = NULL;
    index->file_count = 0;
    index->job = job;
    index->served = index->waiting; /* answered in the other order than they came: each stands alone */
    index->waiting = NULL;
    lsp_hosts_begin_check(lsp->hosts);
    job_queue(job);
}

/* ---- Requests ---- */

static bool unlink_request(struct index_request **link, const struct index_request *request) {
    while (*link && *link != request) link = &(*link)->next;
    if (!*link) return false;
    *link = request->next;
    return true;
}

static void index_cancel(struct peer_request *request) {
    struct index_request *one = peer_request_data(request);
    struct error error = ERROR_INIT;
    (void)(unlink_request(&one->lsp->index->waiting, one) || unlink_request(&one->lsp->index->served, one));
    mem_free(one);
    error_set(&error, TN_CANCELLED, "CANCELLED", "the request was cancelled");
    peer_fail(request, &error);
    error_finish(&error);
}

void lsp_index_await(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request) {
    if (!lsp->index) lsp->index = mem_zalloc(sizeof *lsp->index);
    struct index_request *one = mem_zalloc(sizeof *one);
    *one = (struct index_request){lsp->index->waiting, row, request, lsp};
    lsp->index->waiting = one;
    peer_request_hold(request, one, index_cancel);
    if (!lsp->index->job) index_start(lsp);
}

void lsp_index_each(const struct lsp *lsp, lsp_index_visit visit, void *user) {
    for (size_t i = 0; lsp->index && i < lsp->index->file_count; i++) {
        const struct indexed_file *file = &lsp->index->files[i];
        if (file->names && !lsp_text_at_path(lsp, file->path)) visit(user, file->names, file->project);
    }
}

void lsp_index_each_result(const struct lsp *lsp, lsp_index_visit_result visit, void *user) {
    for (size_t i = 0; lsp->index && i < lsp->index->file_count; i++) {
        const struct indexed_file *file = &lsp->index->files[i];
        if (file->names && !lsp_text_at_path(lsp, file->path)) visit(user, file->names->assist, file->result);
    }
}

void lsp_index_touch(struct lsp *lsp) {
    if (lsp->index) lsp->index->touched = true;
}

/* A running job has the files: then all are read again. */
void lsp_index_drop_projects(struct lsp *lsp, tn_value configs) {
    struct lsp_index *index = lsp->index;
    if (index && index->job) index->stale = true;
    for (size_t i = 0; index && i < index->file_count; i++)
        if (index->files[i].project && value_get(configs, index->files[i].project)) index->files[i].size = -1;
}

void lsp_index_drop(struct lsp *lsp) {
    if (lsp->index) lsp->index->stale = true;
}

bool lsp_index_is_busy(const struct lsp *lsp) { return lsp->index && lsp->index->job; }

void lsp_index_free(struct lsp *lsp) {
    if (!lsp->index) return;
    files_free(lsp->index->files, lsp->index->file_count);
    mem_free(lsp->index);
    lsp->index = NULL;
}
