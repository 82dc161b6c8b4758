/*
 * store_each.c - visits all records of a range, page by page.
 */
#include "adl/value/memory.h"
#include "host/data/store/store.h"

#define EACH_PAGE 1000 /* records per query */

int32_t session_each(struct session *session, const char *collection, const char *from, const char *to,
                     session_visit_fn *visit, void *user, struct error *error) {
    tn_value after = NULL;
    int32_t status = TN_OK;
    for (bool more = true; more && status == TN_OK;) {
        tn_value query = store_list(collection, from, to, EACH_PAGE), page = NULL;
        if (after) {
            tn_value list = value_set_take(value_ref(value_get(query, "list")), "after", after);
            query = value_set_take(query, "list", list);
            after = NULL;
        }
        status = session_query_take(session, query, &page, error);
        if (status != TN_OK) break;
        tn_value records = value_get(page, "records");
        size_t count = value_count(records);
        for (size_t i = 0; status == TN_OK && i < count; i++) {
            tn_value record = value_at(records, i), key = value_get(record, "key");
            status = visit(user, value_chars(key, NULL), value_get(record, "value"), error);
            if (i + 1 == count) after = value_ref(key);
        }
        more = count > 0 && value_get(page, "more") == value_bool(true);
        value_unref(page);
    }
    value_unref(after);
    return status;
}
