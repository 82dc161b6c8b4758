/*
 * lines.c - see lines.h.
 */
#include "lines.h"

tn_value lines_make_header(void) { return tn_build("{s:s, s:i}", "format", "acme.folder", "version", LINES_VERSION); }

void lines_put_change(tn_builder *builder, struct tn_store_text collection, struct tn_store_text key,
                      const struct tn_store_entry *entry) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "c", tn_text_n(collection.data, collection.length));
    tn_put_take(builder, "k", tn_text_n(key.data, key.length));
    if (entry != NULL) {
        tn_put_int(builder, "v", entry->version);
        tn_put(builder, "value", entry->value);
        tn_put_int(builder, "size", (int64_t)entry->size);
        if (entry->words.data != NULL) tn_put_take(builder, "words", tn_text_n(entry->words.data, entry->words.length));
        if (entry->vector_count > 0) {
            tn_put_begin(builder, "vector", TN_ARRAY);
            for (uint64_t i = 0; i < entry->vector_count; i++) tn_put_num(builder, NULL, (double)entry->vector[i]);
            tn.value->end(builder);
        }
        if (entry->expires_at != INT64_MAX) tn_put_int(builder, "expires", entry->expires_at);
    }
    tn.value->end(builder);
}

static tn_value corrupt(const char *what) {
    return tn_store_failure("STORE_CORRUPT", "the log has a line whose %s is not what this store writes", what);
}

static tn_value apply_header(tn_value header) {
    int64_t version = tn_get_int(header, "version", -1);
    if (strcmp(tn_get_text(header, "format", ""), "acme.folder") != 0) return corrupt("format");
    if (version <= LINES_VERSION) return NULL;
    return tn_store_failure("STORE_VERSION", "the log has version %lld, and this release reads up to %d",
                            (long long)version, LINES_VERSION);
}

static tn_value read_vector(struct tn_arena *arena, tn_value list, struct tn_store_entry *out) {
    uint64_t count = tn.value->count(list);
    float *vector = count > 0 ? tn_arena_alloc(arena, count * sizeof(*vector)) : NULL;
    double number;
    if (count == 0) return NULL;
    if (vector == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; i < count; i++) {
        if (tn.value->as_double(tn.value->at(list, i), &number) != TN_OK) return corrupt("vector");
        vector[i] = (float)number;
    }
    out->vector = vector;
    out->vector_count = count;
    return NULL;
}

static tn_value apply_change(struct tn_store_map *map, struct tn_arena *arena, tn_value change) {
    struct tn_store_text name = tn_store_text_of(tn_get(change, "c"));
    struct tn_store_entry made = {.key = tn_store_text_of(tn_get(change, "k")),
                                  .version = tn_get_int(change, "v", 0),
                                  .value = tn_get(change, "value"),
                                  .size = (uint64_t)tn_get_int(change, "size", 0),
                                  .words = tn_store_text_of(tn_get(change, "words")),
                                  .expires_at = tn_get_int(change, "expires", INT64_MAX)};
    if (name.data == NULL || made.key.data == NULL) return corrupt("change");
    if (made.version == 0) return tn_store_map_delete(map, name, made.key);
    if (made.version < 0 || made.value == NULL) return corrupt("record");
    tn_value why = read_vector(arena, tn_get(change, "vector"), &made);
    if (why != NULL) return why;
    struct tn_store_entry *entry = tn_store_map_entry_new(&made);
    bool put = entry != NULL && tn_store_map_put_take(map, tn_store_map_collection(map, name), entry);
    return put ? NULL : tn_store_failure_memory();
}

tn_value lines_apply(struct tn_store_map *map, const char *json, uint64_t length) {
    struct tn_arena arena = TN_ARENA;
    tn_value line = tn_from_json(json, length), why = NULL;
    if (tn.value->kind(line) == TN_OBJECT)
        why = apply_header(line);
    else if (tn.value->kind(line) != TN_ARRAY)
        why = corrupt("JSON");
    for (uint64_t i = 0; why == NULL && i < tn.value->count(line) && tn.value->kind(line) == TN_ARRAY; i++)
        why = apply_change(map, &arena, tn.value->at(line, i));
    tn_arena_free(&arena);
    tn_release(line);
    if (why == NULL)
        tn_store_map_commit(map);
    else
        tn_store_map_rollback(map);
    return why;
}
