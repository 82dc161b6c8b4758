/*
 * rename_files.c - edits for files and folders that are moved: names of files are relative to the document's folder.
 */
#include "adl/assist/rename.h"
#include "adl/value/memory.h"
#include <string.h>

struct file_moves {
    const struct assist_move *moves;
    size_t count;
};

/* Returns the path after the moves; the caller frees it. A folder moves everything in it. */
static char *moved_path(const struct file_moves *moves, const char *path) {
    for (size_t i = 0; i < moves->count; i++) {
        const char *from = moves->moves[i].from;
        size_t length = strlen(from);
        while (length > 0 && from[length - 1] == '/') length--;
        if (length == 0 || strncmp(path, from, length) != 0 || (path[length] != '\0' && path[length] != '/')) continue;
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        buffer_text(&out, moves->moves[i].to);
        while (out.length > 0 && out.data[out.length - 1] == '/') out.data[--out.length] = '\0';
        buffer_text(&out, path + length);
        return buffer_detach(&out, NULL);
    }
    return mem_text(path);
}

/* Appends `path` relative to the folder of the file `from`. Both are absolute, or relative to the same folder. */
static void write_relative(struct buffer *out, const char *from, const char *path) {
    size_t common = 0;
    for (size_t i = 0; from[i] && from[i] == path[i]; i++)
        if (from[i] == '/') common = i + 1;
    for (const char *at = from + common; (at = strchr(at, '/')) != NULL; at++) buffer_text(out, "../");
    buffer_text(out, path + common);
}

static void relative_path(struct buffer *out, const char *from, const char *path) {
    buffer_init(out, SIZE_MAX);
    write_relative(out, from, path);
}

/* True for names that the catalog does not read as paths: "pack:acme/triage.yaml". */
static bool has_scheme(const char *text) {
    size_t word = strcspn(text, ":/");
    return text[word] == ':';
}

static void move_name(struct assist_edits *edits, const struct file_moves *moves, const struct assist_names *names,
                      const struct assist_name *name) {
    const char *own = source_name(names->sources[0]);
    char *own_after = moved_path(moves, own), *path_after = moved_path(moves, name->path);
    struct buffer before, after;
    relative_path(&before, own, name->path);
    relative_path(&after, own_after, path_after);
    bool absolute = name->text[0] == '/';
    bool same = absolute ? strcmp(name->path, path_after) == 0 : strcmp(buffer_cstr(&before), buffer_cstr(&after)) == 0;
    if (!same && absolute) {
        buffer_clear(&after);
        buffer_text(&after, path_after);
    } else if (!same && strncmp(name->text, "./", 2) == 0 && strncmp(buffer_cstr(&after), "../", 3) != 0) {
        buffer_clear(&after);
        buffer_text(&after, "./");
        write_relative(&after, own_after, path_after);
    }
    if (!same &&
        !assist_edit_scalar(edits, names->sources[0], name->token, name->span, buffer_cstr(&after), after.length))
        assist_edits_refuse(edits, "the name of the file `%s` in `%s` cannot be changed", name->text, own);
    buffer_finish(&before);
    buffer_finish(&after);
    mem_free(own_after);
    mem_free(path_after);
}

struct assist_edits *assist_rename_files(const struct assist_move *moves, size_t count,
                                         const struct assist_workspace *workspace) {
    const struct file_moves all = {moves, count};
    struct assist_edits *edits = assist_edits_new();
    for (size_t i = 0; i < workspace->count; i++) {
        const struct assist_names *names = workspace->names[i];
        for (size_t k = 0; k < names->own_count; k++) {
            const struct assist_name *name = &names->items[k];
            bool file = name->kind == USE_DOCUMENT || name->kind == USE_FILE;
            if (file && name->path && !has_scheme(name->text)) move_name(edits, &all, names, name);
        }
    }
    return assist_edits_finish(edits);
}
