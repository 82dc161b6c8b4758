/*
 * known.c - names of the present version, and of the last good one where a section cannot be read.
 */
#include "adl/assist/known.h"
#include "adl/tree/tree.h"
#include <string.h>

/* The last good document if names of this section may be missing in the present one; otherwise NULL. */
static const struct document *section_from(const struct assist *assist, const char *section) {
    if (!assist->good) return NULL;
    const struct tree_node *list = tree_get(tree_root(assist->tree), section);
    bool lacks = !list || list->incomplete || (list->kind != TN_ARRAY && list->kind != TN_OBJECT);
    for (uint32_t i = 0; !lacks && i < list->count; i++)
        lacks = list->items[i].node->kind == TREE_BROKEN || list->items[i].node->incomplete;
    return lacks ? assist->good->document : NULL;
}

void known_each_channel(const struct assist *assist, bool (*visit)(void *user, const struct document_channel *channel),
                        void *user) {
    const struct document *now = assist->document, *good = section_from(assist, "channels");
    for (uint32_t i = 0; i < now->channel_count; i++)
        if (!visit(user, &now->channels[i])) return;
    for (uint32_t i = 0; good && i < good->channel_count; i++) {
        size_t length;
        const char *name = value_chars(good->channels[i].name, &length);
        if (document_find_channel(now, name, length) < 0 && !visit(user, &good->channels[i])) return;
    }
}

void known_each_node(const struct assist *assist, bool (*visit)(void *user, const struct document_node *node),
                     void *user) {
    const struct document *now = assist->document, *good = section_from(assist, "nodes");
    for (uint32_t i = 0; i < now->node_count; i++)
        if (now->nodes[i].id && !visit(user, &now->nodes[i])) return;
    for (uint32_t i = 0; good && i < good->node_count; i++) {
        size_t length;
        if (!good->nodes[i].id) continue;
        const char *id = value_chars(good->nodes[i].id, &length);
        if (document_find_node(now, id, length) < 0 && !visit(user, &good->nodes[i])) return;
    }
}

const struct document_channel *known_channel(const struct assist *assist, const char *name, size_t length) {
    const struct document *documents[] = {assist->document, assist->good ? assist->good->document : NULL};
    for (size_t i = 0; i < 2 && documents[i]; i++) {
        int32_t index = document_find_channel(documents[i], name, length);
        if (index >= 0) return &documents[i]->channels[index];
    }
    return NULL;
}

const struct document_node *known_node(const struct assist *assist, const char *id, size_t length) {
    const struct document *documents[] = {assist->document, assist->good ? assist->good->document : NULL};
    for (size_t i = 0; i < 2 && documents[i]; i++) {
        int32_t index = document_find_node(documents[i], id, length);
        if (index >= 0) return &documents[i]->nodes[index];
    }
    return NULL;
}

/* ---- Roles ---- */

struct role_search {
    const char *name;
    size_t length;
    const char *model;
};

static void search_role(void *user, const char *role, const char *model) {
    struct role_search *search = user;
    if (strlen(role) == search->length && memcmp(role, search->name, search->length) == 0) search->model = model;
}

static const char *operator_model(const struct assist *assist, const char *name, size_t length) {
    struct role_search search = {name, length, NULL};
    if (assist->world->each_role) assist->world->each_role(assist->world->self, search_role, &search);
    return search.model;
}

static const struct document_model *bound_role(const struct assist *assist, const char *name) {
    const struct document_model *bound = document_find_model(assist->document, name);
    return bound || !assist->good ? bound : document_find_model(assist->good->document, name);
}

bool known_role(const struct assist *assist, const char *name, size_t length, struct known_role *out) {
    const struct document *documents[] = {assist->document, assist->good ? assist->good->document : NULL};
    *out = (struct known_role){.model = operator_model(assist, name, length)};
    for (size_t i = 0; i < 2 && documents[i] && !out->bound; i++)
        for (uint32_t j = 0; j < documents[i]->model_count && !out->bound; j++) {
            size_t role_length;
            const char *role = value_chars(documents[i]->models[j].role, &role_length);
            if (role_length == length && memcmp(role, name, length) == 0) out->bound = &documents[i]->models[j];
        }
    if (out->bound) out->name = value_chars(out->bound->role, NULL);
    return out->bound || out->model;
}

struct role_visit {
    const struct assist *assist;
    void (*visit)(void *user, const struct known_role *role);
    void *user;
};

static void visit_operator_role(void *user, const char *role, const char *model) {
    const struct role_visit *visit = user;
    const struct known_role known = {role, NULL, model};
    if (!bound_role(visit->assist, role)) visit->visit(visit->user, &known);
}

void known_each_role(const struct assist *assist, void (*visit)(void *user, const struct known_role *role),
                     void *user) {
    const struct document *now = assist->document, *good = section_from(assist, "models");
    for (uint32_t i = 0; i < now->model_count; i++) {
        const char *name = value_chars(now->models[i].role, NULL);
        const struct known_role role = {name, &now->models[i], operator_model(assist, name, strlen(name))};
        visit(user, &role);
    }
    for (uint32_t i = 0; good && i < good->model_count; i++) {
        const char *name = value_chars(good->models[i].role, NULL);
        const struct known_role role = {name, &good->models[i], operator_model(assist, name, strlen(name))};
        if (!document_find_model(now, name)) visit(user, &role);
    }
    struct role_visit others = {assist, visit, user};
    if (assist->world->each_role) assist->world->each_role(assist->world->self, visit_operator_role, &others);
}

const struct component_info *known_component(const struct assist *assist, const char *kind, const char *id,
                                             size_t length) {
    const struct catalog *catalog = assist->world->catalog;
    return catalog && length > 0 ? catalog->find(catalog->self, kind, id, length) : NULL;
}
