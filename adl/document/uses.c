/*
 * uses.c - calls the observer of a reader for the names of scalars, keys, configs and expressions.
 */
#include "adl/document/uses.h"
#include "adl/document/place.h"
#include "adl/document/reader.h"
#include <string.h>

static void use_tell(const struct reader *reader, struct document_use *use) {
    if (!use->source) use->source = reader->source;
    reader->observer->use(reader->observer->self, use);
}

static void use_fill_scalar(const struct reader *reader, struct document_use *use, const struct tree_node *scalar) {
    use->name = tree_text(reader->tree, scalar, &use->length);
    use->token = scalar->span;
    use->span = scalar->style == TREE_BLOCK ? place_in_scalar(reader->source, scalar, use->name, use->length,
                                                              (struct span){0, (uint32_t)use->length})
                                            : place_in_quotes(reader->source, scalar->span);
}

/* The text for which an alias that is a key stands; NULL if the key is not an alias. No other key starts with `*`. */
static const struct tree_node *aliased_key(const struct reader *reader, struct span key) {
    if (source_text(reader->source)[key.start] != '*') return NULL;
    size_t count, low = 0;
    const struct tree_anchor *anchors = tree_anchors(reader->tree, &count);
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (anchors[middle].span.start < key.start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && anchors[low].span.start == key.start ? anchors[low].node : NULL;
}

/* The place of a name is its text, also where an alias stands for the text. */
static void use_fill_key(const struct reader *reader, struct document_use *use, const struct tree_item *item) {
    const struct tree_node *aliased = aliased_key(reader, item->key_span);
    if (aliased) {
        use->form = USE_SCALAR;
        use_fill_scalar(reader, use, aliased);
        return;
    }
    use->form = USE_KEY;
    use->token = item->key_span;
    use->span = place_in_quotes(reader->source, use->token);
    use->name = value_chars(item->key, &use->length);
}

void use_scalar(const struct reader *reader, enum use_kind kind, uint32_t access, const struct tree_node *scalar,
                uint32_t node) {
    if (!reader->observer || !tree_text(reader->tree, scalar, NULL)) return;
    struct document_use use = {.kind = kind, .form = USE_SCALAR, .access = access, .node = node};
    use_fill_scalar(reader, &use, scalar);
    use_tell(reader, &use);
}

void use_key(const struct reader *reader, enum use_kind kind, uint32_t access, const struct tree_item *item,
             uint32_t node) {
    if (!reader->observer) return;
    struct document_use use = {.kind = kind, .access = access, .node = node};
    use_fill_key(reader, &use, item);
    use_tell(reader, &use);
}

void use_provider(const struct reader *reader, const struct tree_node *scalar, uint32_t node) {
    if (!reader->observer) return;
    struct document_use use = {.kind = USE_PROVIDER, .form = USE_PART, .node = node};
    use_fill_scalar(reader, &use, scalar);
    const char *colon = memchr(use.name, ':', use.length);
    if (colon) {
        const struct span part = {0, (uint32_t)(colon - use.name)};
        use.span = use.token = place_in_scalar(reader->source, scalar, use.name, use.length, part);
        use.length = part.end;
    }
    use_tell(reader, &use);
}

static void tell_text(const struct reader *reader, enum use_kind kind, struct source *source, struct span span,
                      uint32_t node) {
    struct document_use use = {.kind = kind, .source = source, .span = span, .token = span, .node = node};
    use.name = "";
    use_tell(reader, &use);
}

void use_unread(const struct reader *reader, struct source *source, struct span span, uint32_t node) {
    if (reader->observer) tell_text(reader, USE_UNREAD, source, span, node);
}

void use_in_config(const struct reader *reader, const struct config_use *where, enum use_kind kind, uint32_t access,
                   const char *path) {
    if (!reader->observer) return;
    struct document_use use = {
        .kind = kind, .access = access, .node = where->node, .pointer = where->pointer, .path = path};
    if (!where->scalar && !where->item) {
        use.form = USE_DEFAULT;
        use.span = use.token = where->span;
        use.name = where->text;
        use.length = where->length;
    } else if (where->item) {
        use_fill_key(reader, &use, where->item);
    } else {
        if (!tree_text(reader->tree, where->scalar, NULL)) return;
        use_fill_scalar(reader, &use, where->scalar);
    }
    use_tell(reader, &use);
}

/* ---- Expressions ---- */

static struct span use_place(const struct expr_place *place, struct place_cursor *cursor, struct span part) {
    return place->scalar ? place_cursor_find(cursor, part) : part;
}

void use_text(const struct reader *reader, enum use_kind kind, const struct expr_place *place) {
    if (!reader->observer || !place->exact || !place->scalar) return;
    tell_text(reader, kind, place->source, place->span, place->where ? UINT32_MAX : place->node);
}

static struct span whole_place(const struct expr_place *place) {
    if (!place->exact || place->scalar) return place->span;
    return (struct span){0, (uint32_t)source_length(place->source)};
}

void use_unread_expression(const struct reader *reader, const struct expr_place *place) {
    use_unread(reader, place->source, whole_place(place), place->where ? UINT32_MAX : place->node);
}

void use_field(const struct reader *reader, const struct expr_place *place, struct place_cursor *cursor,
               const struct expr_field_name *field) {
    const struct document *document = reader->document;
    if (!field->name) {
        tell_text(reader, USE_WHOLE_STATE, place->source, whole_place(place), place->where ? UINT32_MAX : place->node);
        return;
    }
    int32_t index = document_find_field(document, field->name, field->length);
    struct document_use use = {.kind = USE_CHANNEL,
                               .access = USE_READS,
                               .form = field->bare      ? USE_BARE
                                       : field->indexed ? USE_INDEXED
                                                        : USE_FIELD,
                               .source = place->source,
                               .name = field->name,
                               .length = field->length,
                               .node = place->where ? UINT32_MAX : place->node,
                               .pointer = place->pointer};
    if (index >= 0 && (uint32_t)index >= document->channel_count) use.kind = USE_ITEM;
    if (place->exact) {
        use.token = use_place(place, cursor, field->token);
        use.span = use_place(place, cursor, field->span);
    }
    if (!place->exact || (place->scalar && cursor->failed)) {
        use.form = USE_NOWHERE;
        use.span = use.token = place->span;
    }
    use_tell(reader, &use);
}
