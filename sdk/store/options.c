/*
 * options.c - reads the options of a store (backend.h).
 */
#include <tenon/store/backend.h>

tn_value tn_store_read_options(tn_value options, const char *store, const char *const *own,
                               struct tn_store_text *path) {
    const char *known[24] = {"path", "indexes", "use"};
    tn_value key = NULL;
    unsigned count = 3;
    struct tn_store_excerpt excerpt;
    for (; *own != NULL && count < 23; own++) known[count++] = *own;
    for (uint64_t i = 0; tn.value->entry(options, i, &key, NULL) == TN_OK; i++) {
        unsigned at = 0;
        while (at < count && !tn_store_text_is(tn_store_text_of(key), known[at])) at++;
        if (at < count) continue;
        const char *near = tn_store_nearest_word(tn_store_text_of(key), known);
        return tn_store_failure("INVALID", "the store `%s` has no option `%s`%s%s%s", store,
                                tn_store_text_excerpt(tn_store_text_of(key), &excerpt),
                                near != NULL ? "; did you mean `" : "", near != NULL ? near : "",
                                near != NULL ? "`?" : "");
    }
    *path = tn_store_text_of(tn_get(options, "path"));
    if (path->data == NULL || path->length == 0 || memchr(path->data, '\0', path->length) != NULL)
        return tn_store_failure("INVALID", "the store `%s` needs a `path`, a string; found %s", store,
                                path->data != NULL ? "an unusable string" : tn_kind_name(tn_get(options, "path")));
    return NULL;
}

/* Returns the option, or NULL if it is absent or null. */
static tn_value option_get(tn_value options, const char *name) {
    tn_value found = tn_get(options, name);
    return tn.value->kind(found) == TN_NULL ? NULL : found;
}

tn_value tn_store_read_number(tn_value options, const char *store, const char *name, int64_t least, int64_t most,
                              int64_t *out) {
    tn_value found = option_get(options, name);
    int64_t number = 0;
    if (found == NULL) return NULL;
    if (tn.value->as_int(found, &number) != TN_OK || number < least || number > most)
        return tn_store_failure("INVALID",
                                "the option `%s` of the store `%s` must be an integer from %lld to %lld; found %s",
                                name, store, (long long)least, (long long)most,
                                tn.value->kind(found) == TN_INT ? "another integer" : tn_kind_name(found));
    *out = number;
    return NULL;
}

tn_value tn_store_read_bool(tn_value options, const char *store, const char *name, bool *out) {
    tn_value found = option_get(options, name);
    int32_t truth = 0;
    if (found == NULL) return NULL;
    if (tn.value->as_bool(found, &truth) != TN_OK)
        return tn_store_failure("INVALID", "the option `%s` of the store `%s` must be true or false; found %s", name,
                                store, tn_kind_name(found));
    *out = truth != 0;
    return NULL;
}

tn_value tn_store_read_choice(tn_value options, const char *store, const char *name, const char *const *choices,
                              const char **out) {
    tn_value found = option_get(options, name);
    struct tn_store_text text = tn_store_text_of(found);
    struct tn_store_excerpt excerpt;
    char list[200] = "";
    size_t used = 0;
    if (found == NULL) return NULL;
    for (const char *const *choice = choices; *choice != NULL; choice++) {
        if (tn_store_text_is(text, *choice)) {
            *out = *choice;
            return NULL;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     choice == choices   ? ""
                                     : choice[1] != NULL ? ", "
                                                         : " or ",
                                     *choice);
    }
    return tn_store_failure("INVALID", "the option `%s` of the store `%s` must be %s; found %s", name, store, list,
                            text.data != NULL ? tn_store_text_excerpt(text, &excerpt) : tn_kind_name(found));
}
