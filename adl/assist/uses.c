/*
 * uses.c - records the names that a reader finds, in little memory: assist_new does this for every version of a text.
 *
 * Texts are kept once each. Pointers and paths, which few names have, are kept in the same set.
 */
#include "adl/assist/uses.h"
#include "adl/value/memory.h"
#include <string.h>

static uint32_t file_add(struct assist_uses *uses, struct source *source) {
    const char *name = source_name(source);
    uint32_t index = names_add(&uses->file_names, name, strlen(name));
    if (index < uses->file_count) return index;
    MEM_EXTEND(uses->files, uses->file_count);
    uses->files[uses->file_count++] = source_ref(source);
    return index;
}

struct assist_uses *assist_uses_new(struct source *source) {
    struct assist_uses *uses = mem_zalloc(sizeof *uses);
    (void)file_add(uses, source);
    return uses;
}

void assist_uses_free(struct assist_uses *uses) {
    if (!uses) return;
    for (uint32_t i = 0; i < uses->file_count; i++) source_unref(uses->files[i]);
    for (uint32_t i = 0; i < uses->block_count; i++) mem_free(uses->blocks[i]);
    names_finish(&uses->texts);
    names_finish(&uses->file_names);
    mem_free(uses->blocks);
    mem_free(uses->files);
    mem_free(uses->items);
    mem_free(uses);
}

/* ---- Texts ---- */

#define BLOCK_SIZE 16384u

static char *text_keep(struct assist_uses *uses, const char *text, size_t length) {
    if (length + 1 > uses->block_left) {
        size_t size = length + 1 > BLOCK_SIZE ? length + 1 : BLOCK_SIZE;
        MEM_EXTEND(uses->blocks, uses->block_count);
        uses->blocks[uses->block_count++] = uses->block = mem_alloc(size);
        uses->block_left = size;
    }
    char *kept = uses->block;
    memcpy(kept, text, length);
    kept[length] = '\0';
    uses->block += length + 1;
    uses->block_left -= length + 1;
    return kept;
}

static uint32_t text_id(struct assist_uses *uses, const char *text, size_t length) {
    int32_t known = names_find(&uses->texts, text, length);
    return known >= 0 ? (uint32_t)known : names_add(&uses->texts, text_keep(uses, text, length), length);
}

static void uses_record(void *self, const struct document_use *use) {
    struct assist_uses *uses = self;
    MEM_GROW(uses->items, uses->count, uses->capacity);
    uses->items[uses->count++] = (struct recorded_use){
        .kind = (uint8_t)use->kind,
        .form = (uint8_t)use->form,
        .access = (uint8_t)use->access,
        .file = use->source == uses->files[0] ? 0 : file_add(uses, use->source),
        .span = use->span,
        .token = use->token,
        .node = use->node,
        .text = text_id(uses, use->name, use->length),
        .pointer = use->pointer ? text_id(uses, use->pointer, strlen(use->pointer)) + 1 : 0,
        .path = use->path ? text_id(uses, use->path, strlen(use->path)) + 1 : 0,
    };
}

tn_value assist_used_roles(const struct assist *assist) {
    const struct assist_uses *uses = assist->uses;
    tn_value roles = value_object();
    for (uint32_t i = 0; i < uses->count && value_count(roles) < ASSIST_ROLES_MAX; i++) {
        const struct name *name = &uses->texts.items[uses->items[i].text];
        if (uses->items[i].kind == USE_ROLE && uses->items[i].file == 0)
            roles = value_set_key_take(roles, value_string_lossy(name->text, name->length), value_null());
    }
    return roles;
}

struct use_observer assist_uses_observer(struct assist_uses *uses) {
    return (struct use_observer){.self = uses, .use = uses_record};
}
