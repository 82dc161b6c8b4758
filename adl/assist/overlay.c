/* overlay.c - a catalog that answers with the changed texts of files, and with new files. */
#include "adl/assist/overlay.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

void overlay_init(struct overlay *overlay, const struct assist_edits *edits) {
    *overlay = (struct overlay){.edits = edits};
    overlay->sources = mem_array(NULL, edits->count + 1u, sizeof *overlay->sources);
    for (size_t i = 0; i < edits->count; i++) {
        const struct source *source = edits->items[i].source;
        uint32_t known = overlay->paths.count;
        uint32_t index = names_add(&overlay->paths, source_name(source), strlen(source_name(source)));
        if (index == known) overlay->sources[index] = source;
    }
}

void overlay_finish(struct overlay *overlay) {
    names_finish(&overlay->paths);
    mem_free(overlay->sources);
}

bool overlay_changes(const struct overlay *overlay, const char *path) {
    return names_find(&overlay->paths, path, strlen(path)) >= 0;
}

static tn_value changed_text(const struct overlay *overlay, const struct source *source) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assist_edits_apply(overlay->edits, source, &out);
    tn_value text = value_string(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return text;
}

/* New files are in the folder of the document that names them. */
static tn_value new_file(const struct overlay *overlay, const struct source *from, const char *file,
                         struct catalog_file *found) {
    const char *name = source_name(from), *slash = strrchr(name, '/');
    const char *root = source_root(from);
    int folder = slash ? (int)(slash - name + 1) : 0;
    for (size_t i = 0; i < overlay->edits->file_count; i++) {
        const struct assist_new_file *made = &overlay->edits->files[i];
        tn_value path = value_format("%.*s%s", folder, name, file);
        bool same = value_text_is(path, made->path);
        value_unref(path);
        if (!same) continue;
        *found = (struct catalog_file){mem_text(made->path), mem_text(root ? root : ".")};
        return value_text(made->text);
    }
    return NULL;
}

static tn_value overlay_read_file(void *self, const struct source *from, const char *file, struct catalog_file *found,
                                  struct error *error) {
    const struct overlay *overlay = self;
    tn_value text = from ? new_file(overlay, from, file, found) : NULL;
    if (text) return text;
    text = overlay->base->read(overlay->base->read_self, from, file, found, error);
    int32_t index = text ? names_find(&overlay->paths, found->path, strlen(found->path)) : -1;
    if (index < 0) return text;
    value_unref(text);
    return changed_text(overlay, overlay->sources[index]);
}

void overlay_use(struct overlay *overlay, const struct catalog *base) {
    overlay->base = base;
    overlay->world = (struct assist_world){.catalog = base ? &overlay->catalog : NULL};
    if (!base) return;
    overlay->catalog = *base;
    if (!base->read) return;
    overlay->catalog.read = overlay_read_file;
    overlay->catalog.read_self = overlay;
}

struct assist *overlay_read(struct overlay *overlay, const struct source *before) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assist_edits_apply(overlay->edits, before, &out);
    struct source *source = source_new(source_name(before), buffer_cstr(&out), out.length);
    source_set_origin(source, source_origin(before), source_root(before));
    source_set_view(source, source_view(before));
    struct assist *assist = assist_new(source, &overlay->world, NULL);
    source_unref(source);
    buffer_finish(&out);
    return assist;
}
