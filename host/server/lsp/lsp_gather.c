/*
 * lsp_gather.c - collects the names of open documents and of the index, and reads the tenon.yaml.
 */
#include "host/server/lsp/lsp_gather.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/server/lsp/lsp_index.h"
#include "host/server/lsp/lsp_internal.h"

static void gather_names(void *user, const struct assist_names *names, const char *project) {
    struct lsp_gathered *all = user;
    if (all->of && !lsp_same_project(all->of->project, project)) return;
    MEM_EXTEND(all->names, all->count);
    all->names[all->count++] = names;
}

/* The text of a tenon.yaml: that of the editor, if it is open there. NULL if it cannot be read. */
static struct source *config_source(const struct lsp *lsp, const char *path) {
    const struct lsp_text *text = lsp_text_at_path(lsp, path);
    if (text) return source_ref(text->source);
    char *content;
    size_t length;
    if (!lsp_read_file(path, CONFIG_FILE_MAX, &content, &length)) return NULL;
    struct source *source = source_new(path, content, length);
    mem_free(content);
    return source;
}

static struct tree *config_tree(const struct lsp *lsp, const struct lsp_text *of) {
    const char *path = of->is_config ? of->path : of->project;
    struct source *source = path ? config_source(lsp, path) : NULL;
    if (!source) return NULL;
    struct diagnostics *found = diagnostics_new();
    struct tree *tree = tree_read(source, NULL, found);
    diagnostics_free(found);
    source_unref(source);
    return tree;
}

void lsp_gather(struct lsp *lsp, const struct lsp_text *of, struct lsp_gathered *all) {
    *all = (struct lsp_gathered){.config = of ? config_tree(lsp, of) : NULL, .of = of};
    for (struct lsp_text *text = lsp->texts; text; text = text->next) {
        bool again = text->path && lsp_text_at_path(lsp, text->path) != text; /* under another URI */
        if (!again && lsp_text_names(text)) gather_names(all, lsp_text_names(text), text->project);
    }
    lsp_index_each(lsp, gather_names, all);
    all->workspace = (struct assist_workspace){all->names, all->count, all->config};
}

void lsp_gathered_finish(struct lsp_gathered *all) {
    mem_free((void *)all->names);
    tree_free(all->config);
}
