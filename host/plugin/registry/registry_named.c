/*
 * registry_named.c - components of which only the cache is known (manifest_cache.h): a table of their names.
 *
 * A host that knows a thousand plugins uses a few. So a component of the cache gets a row when it is searched for the
 * first time, or when all rows are needed. Until then it costs 16 bytes. A kind and id is in this table, or in that of
 * the rows, never in both: a second claim makes the row of the first, and is handled there.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/plugin_internal.h"
#include <string.h>

#define CAPACITY_FIRST 256u

struct named_component {
    struct plugin *plugin; /* NULL: the entry is free, or, with `taken`, it has a row */
    uint32_t hash;
    uint32_t place : 31, taken : 1; /* place: in the manifest; at most MANIFEST_COMPONENTS_MAX */
};

static const struct cached_component *named_of(const struct named_component *named) {
    return &named->plugin->cached->components[named->place];
}

static bool named_is(const struct named_component *named, const char *kind, const char *id, size_t length) {
    const struct cached_component *known = named_of(named);
    return strncmp(known->id, id, length) == 0 && !known->id[length] && strcmp(known->kind, kind) == 0;
}

/* The entry of a component; NULL if the table does not have it. */
static struct named_component *named_find(const struct registry *registry, uint32_t hash, const char *kind,
                                          const char *id, size_t length) {
    size_t mask = registry->named_capacity - 1;
    if (registry->named_count == 0) return NULL;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        struct named_component *named = &registry->named[at];
        if (!named->plugin && !named->taken) return NULL;
        if (named->plugin && named->hash == hash && named_is(named, kind, id, length)) return named;
    }
}

/* The table must have a free entry, and not this component. */
static void named_insert(struct registry *registry, struct named_component added) {
    size_t mask = registry->named_capacity - 1, at = added.hash & mask;
    while (registry->named[at].plugin || registry->named[at].taken) at = (at + 1) & mask;
    registry->named[at] = added;
    registry->named_used++;
    registry->named_count++;
}

/* At most half of the entries are in use. */
static void named_grow(struct registry *registry) {
    struct named_component *before = registry->named;
    size_t capacity = registry->named_capacity;
    if ((registry->named_used + 1) * 2 <= capacity) return;
    registry->named_capacity = capacity ? capacity * 2 : CAPACITY_FIRST;
    registry->named = mem_zalloc(registry->named_capacity * sizeof *registry->named);
    registry->named_used = registry->named_count = 0;
    for (size_t i = 0; i < capacity; i++)
        if (before[i].plugin) named_insert(registry, before[i]);
    mem_free(before);
}

bool named_add(struct plugin *plugin, uint32_t place) {
    struct registry *registry = plugin->registry;
    const struct cached_component *component = &plugin->cached->components[place];
    size_t length = strlen(component->id);
    uint32_t hash = (uint32_t)row_hash(component->kind, component->id, length);
    if (registry->row_count + registry->named_count >= REGISTRY_COMPONENTS_MAX) return false;
    if (row_lookup(registry, component->kind, component->id, length) ||
        named_find(registry, hash, component->kind, component->id, length))
        return false;
    named_grow(registry);
    named_insert(registry, (struct named_component){plugin, hash, place & 0x7fffffffu, 0});
    registry_note_change(registry);
    return true;
}

static struct row *named_make_row(struct registry *registry, struct named_component *named) {
    struct plugin *plugin = named->plugin;
    struct row *row = NULL;
    named->plugin = NULL;
    named->taken = 1;
    registry->named_count--;
    (void)row_add_named(plugin, named->place, &row, NULL); /* it was counted already: there is space */
    return row;
}

struct row *named_take(struct registry *registry, const char *kind, const char *id, size_t length) {
    struct named_component *named = named_find(registry, (uint32_t)row_hash(kind, id, length), kind, id, length);
    return named ? named_make_row(registry, named) : NULL;
}

void named_take_all(struct registry *registry) {
    for (size_t i = 0; registry->named_count > 0 && i < registry->named_capacity; i++)
        if (registry->named[i].plugin) (void)named_make_row(registry, &registry->named[i]);
}
