/* effects.c - compares effects by name and ignores the part after the colon. */
#include "adl/document/effects.h"
#include <string.h>

/* True for "fs.read" and "fs.read:PATH". */
static bool is_effect(const char *text, const char *effect) {
    size_t length = strlen(effect);
    return strncmp(text, effect, length) == 0 && (text[length] == '\0' || text[length] == ':');
}

static bool leaves_no_trace(tn_value effect) {
    static const char *const harmless[] = {"fs.read", "network.http", "secret", "clock", "random", "state.read"};
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

const char *component_obstacle(const struct component_info *component) {
    if (!value_is(component->effects, TN_ARRAY)) return NULL;
    for (size_t i = 0; i < value_count(component->effects); i++) {
        tn_value effect = value_at(component->effects, i);
        if (!leaves_no_trace(effect)) return value_is(effect, TN_STRING) ? value_chars(effect, NULL) : NULL;
    }
    return NULL;
}
