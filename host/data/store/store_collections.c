/*
 * store_collections.c - the indexes of STORE_COLLECTIONS, as a value.
 */
#include "host/data/store/store_collections.h"
#include <string.h>

tn_value store_collections_indexes(void) {
    static const struct {
        const char *name, *indexes;
    } rows[] = {
#define STORE_ROW(name, text, indexes) {text, indexes},
        STORE_COLLECTIONS(STORE_ROW)
#undef STORE_ROW
    };
    tn_value all = value_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value list = value_array(), paths = value_array();
        for (const char *at = rows[i].indexes; *at;) {
            size_t length = strcspn(at, ", ");
            paths = value_push_take(paths, value_text_n(at, length));
            at += length;
            if (*at != ',') {
                list = value_push_take(list, paths);
                paths = value_array();
            }
            at += *at != 0;
        }
        value_unref(paths);
        all = value_count(list) ? value_set_take(all, rows[i].name, list) : (value_unref(list), all);
    }
    return all;
}
