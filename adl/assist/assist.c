/*
 * assist.c - makes and frees an assist.
 *
 * Only whole versions are kept as `good`, and a `good` version has no `good` itself, so at most two versions of a
 * text are alive for each assist.
 */
#include "adl/assist/assist.h"
#include "adl/assist/names.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/schema/schema.h"
#include "adl/tree/tree.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

extern const char assist_message_text[]; /* sdk/schema/component/1/message.schema.json */
extern const unsigned assist_message_length;

/* Takes `before`. */
static struct assist *newest_good_take(struct assist *before) {
    if (!before || tree_is_whole(before->tree)) return before;
    struct assist *good = assist_ref(before->good);
    assist_unref(before);
    return good;
}

static struct document *empty_document(const struct source *source) {
    struct source *empty = source_new(source_name(source), "", 0);
    struct diagnostics *ignored = diagnostics_new();
    struct document *document = document_read(empty, NULL, ignored);
    diagnostics_free(ignored);
    source_unref(empty);
    return document;
}

/* Anchors are not names of the language, so the reader of documents does not observe them. */
static void record_anchors(const struct tree *tree, const struct use_observer *observer) {
    size_t count;
    const struct tree_anchor *anchors = tree_anchors(tree, &count);
    struct source *source = tree_source(tree);
    for (size_t i = 0; i < count; i++) {
        const struct span span = {anchors[i].span.start + 1, anchors[i].span.end};
        const struct document_use use = {.kind = USE_ANCHOR,
                                         .form = USE_PART,
                                         .access = anchors[i].alias ? 0 : USE_DEFINES,
                                         .source = source,
                                         .span = span,
                                         .token = anchors[i].span,
                                         .name = source_text(source) + span.start,
                                         .length = span.end - span.start,
                                         .node = UINT32_MAX};
        observer->use(observer->self, &use);
    }
}

/* The version before is freed as soon as possible, because two trees and documents of a large text are large. */
struct assist *assist_next_take(struct source *source, const struct assist_world *world, struct assist *before) {
    struct assist *assist = mem_zalloc(sizeof *assist);
    assist->references = 1;
    assist->message_schema = mem_zalloc(sizeof *assist->message_schema);
    assist->source = source_ref(source);
    assist->world = world;
    if (world->ref) world->ref(world->self);
    assist->found = diagnostics_new();
    assist->tree = tree_read_next(source, before ? assist_names_from(before)->tree : NULL, NULL, assist->found);
    if (tree_is_whole(assist->tree))
        assist_unref(before);
    else
        assist->good = newest_good_take(before);
    assist->uses = assist_uses_new(source);
    const struct use_observer observer = assist_uses_observer(assist->uses);
    record_anchors(assist->tree, &observer);
    if (world->form)
        assist->document = empty_document(source);
    else
        assist->document = document_read_observed(assist->tree, world->catalog, assist->found, &observer);
    return assist;
}

struct assist *assist_new(struct source *source, const struct assist_world *world, struct assist *before) {
    return assist_next_take(source, world, assist_ref(before));
}

struct assist *assist_ref(struct assist *assist) {
    if (assist) __atomic_add_fetch(&assist->references, 1, __ATOMIC_RELAXED);
    return assist;
}

void assist_unref(struct assist *assist) {
    if (!assist || __atomic_sub_fetch(&assist->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    document_unref(assist->document);
    assist_uses_free(assist->uses);
    tree_free(assist->tree);
    diagnostics_free(assist->found);
    source_unref(assist->source);
    assist_unref(assist->good);
    schema_unref(*assist->message_schema);
    mem_free(assist->message_schema);
    if (assist->world->unref) assist->world->unref(assist->world->self);
    mem_free(assist);
}

const struct assist *assist_names_from(const struct assist *assist) { return assist->good ? assist->good : assist; }

const struct schema *assist_message_schema(const struct assist *assist) {
    struct schema *schema = __atomic_load_n(assist->message_schema, __ATOMIC_ACQUIRE), *made = NULL;
    if (schema) return schema;
    tn_value text = NULL;
    if (json_read(assist_message_text, assist_message_length, NULL, &text, NULL) == TN_OK)
        (void)schema_compile(text, NULL, &made, NULL);
    value_unref(text);
    if (__atomic_compare_exchange_n(assist->message_schema, &schema, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    schema_unref(made); /* another thread was first */
    return schema;
}
