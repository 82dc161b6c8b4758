/*
 * effects.c - compares effects. For retries and caching only the name counts; as permissions, the part after the colon
 * narrows the name: a folder, a host, a secret, a pattern of methods.
 */
#include "adl/document/effects.h"
#include "adl/value/wildcard.h"
#include <string.h>

#define EFFECT_UNKNOWN "unknown" /* declared instead of a list if the effects are not known: they may be any */

/* True for "fs.read" and "fs.read:PATH". */
static bool is_effect(const char *text, const char *effect) {
    size_t length = strlen(effect);
    return strncmp(text, effect, length) == 0 && (text[length] == '\0' || text[length] == ':');
}

bool effect_is_call(const char *effect) {
    return strncmp(effect, "calls.", strlen("calls.")) == 0 || strcmp(effect, "tool.call") == 0;
}

/* What a component calls is judged by its own effects. `tool.call` declares that these are not known in advance. */
static bool leaves_no_trace(tn_value effect) {
    static const char *const harmless[] = {"fs.read", "network.http", "secret", "clock", "random", "state.read"};
    if (value_is(effect, TN_STRING) && strncmp(value_chars(effect, NULL), "calls.", strlen("calls.")) == 0) return true;
    for (size_t i = 0; value_is(effect, TN_STRING) && i < sizeof harmless / sizeof *harmless; i++)
        if (is_effect(value_chars(effect, NULL), harmless[i])) return true;
    return false;
}

bool component_cacheable(const struct component_info *component) {
    if (!value_is(component->effects, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(component->effects); i++)
        if (!leaves_no_trace(value_at(component->effects, i))) return false;
    return true;
}

bool component_repeatable(const struct component_info *component) {
    tn_value idempotent = value_get(component->manifest, "idempotent");
    return component_cacheable(component) || (value_is(idempotent, TN_BOOL) && value_to_bool(idempotent));
}

bool component_unprotected(const struct component_info *component) {
    tn_value key = value_get(component->manifest, "idempotency_key");
    return value_is(key, TN_BOOL) && !value_to_bool(key) && !component_repeatable(component);
}

const char *component_obstacle(const struct component_info *component) {
    if (!value_is(component->effects, TN_ARRAY)) return NULL;
    for (size_t i = 0; i < value_count(component->effects); i++) {
        tn_value effect = value_at(component->effects, i);
        if (!leaves_no_trace(effect)) return value_is(effect, TN_STRING) ? value_chars(effect, NULL) : NULL;
    }
    return NULL;
}

/* ---- Permissions ---- */

/* True if a part of the path is "..", which may lead out of any folder. */
static bool path_climbs(const char *path) {
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '\0' || part[2] == '/')) return true;
    }
    return false;
}

static bool path_covers(const char *folder, const char *path) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    if (length == 0 || strncmp(folder, path, length) != 0 || path_climbs(path)) return false;
    return path[length] == '\0' || path[length] == '/' || (length == 1 && folder[0] == '/');
}

/* "HOST" covers "HOST:PORT", and "*.DOMAIN" each host below the domain. */
static bool host_covers(const char *wide, const char *narrow) {
    char host[256];
    size_t length = strcspn(narrow, ":");
    if (wildcard_matches(wide, narrow)) return true;
    if (strchr(wide, ':') || length >= sizeof host) return false;
    memcpy(host, narrow, length);
    host[length] = '\0';
    return wildcard_matches(wide, host);
}

bool effect_covers(const char *wide, const char *narrow) {
    size_t name = strcspn(narrow, ":");
    if (strcmp(wide, narrow) == 0 || strcmp(wide, EFFECT_UNKNOWN) == 0) return true;
    if (strcmp(wide, EFFECT_UNKNOWN ":*") == 0) return strncmp(narrow, wide, strlen(wide) - 1) == 0;
    if (strcmp(wide, "net:raw") == 0 && is_effect(narrow, "network.http")) return true;
    if (strlen(wide) < name || strncmp(wide, narrow, name) != 0) return false;
    if (wide[name] == '\0') return true; /* without a part after the colon it is the whole */
    if (wide[name] != ':' || narrow[name] != ':') return false;
    if (strncmp(narrow, "fs.", strlen("fs.")) == 0) return path_covers(wide + name + 1, narrow + name + 1);
    /* A `*` in a pattern that is narrower is one character, which only a `*` matches. */
    if (is_effect(narrow, "host.method")) return wildcard_matches(wide + name + 1, narrow + name + 1);
    return is_effect(narrow, "network.http") && host_covers(wide + name + 1, narrow + name + 1);
}

static bool needs_cover(const char *effect) { return !effect_is_call(effect) || is_effect(effect, "calls.model"); }

bool effects_within(tn_value narrow, tn_value wide, const char **missing) {
    *missing = NULL;
    if (!value_is(narrow, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(narrow); i++) {
        tn_value effect = value_at(narrow, i);
        const char *text = value_is(effect, TN_STRING) ? value_chars(effect, NULL) : EFFECT_UNKNOWN;
        bool covered = !needs_cover(text);
        for (size_t k = 0; !covered && value_is(wide, TN_ARRAY) && k < value_count(wide); k++)
            covered =
                value_is(value_at(wide, k), TN_STRING) && effect_covers(value_chars(value_at(wide, k), NULL), text);
        if (covered) continue;
        *missing = text;
        return false;
    }
    return true;
}
