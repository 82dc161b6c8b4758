/*
 * thread_interrupts.c - validates answers to saved interrupts, and saves the answers.
 */
#include "host/data/thread/thread_interrupts.h"
#include "adl/schema/schema.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_records.h"

static tn_value find_interrupt(tn_value interrupts, tn_value id) {
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value known = value_get(value_at(interrupts, i), "id");
        if (known && value_equal(known, id)) return value_at(interrupts, i);
    }
    return NULL;
}

static int32_t check_answer_schema(tn_value entry, tn_value answer, struct error *error) {
    tn_value document = value_get(entry, "schema");
    if (!document) return TN_OK;
    struct schema *schema;
    int32_t status = schema_compile(document, NULL, &schema, error);
    if (status != TN_OK) return status;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    status = schema_validate(schema, answer, &errors);
    if (status != TN_OK) {
        const struct schema_error *first = errors.count ? &errors.items[0] : NULL;
        error_set(error, status, "INVALID_INPUT", "the answer for `%s`%s%s: %s",
                  value_chars(value_get(entry, "node"), NULL), first && *first->pointer ? ", at " : "",
                  first ? first->pointer : "", first ? first->message : "does not match its schema");
    }
    schema_errors_finish(&errors);
    schema_unref(schema);
    return status;
}

int32_t thread_interrupts_check(tn_value interrupts, tn_value answers, struct error *error) {
    if (answers && !value_is(answers, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the answers are %s, expected an object by interrupt id",
                         value_kind_name(value_kind(answers)));
    size_t count = answers ? value_count(answers) : 0;
    for (size_t i = 0; i < count; i++) {
        tn_value id = value_key_at(answers, i), entry = find_interrupt(interrupts, id);
        if (!entry)
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the run has no open interrupt with the id `%s`",
                             value_chars(id, NULL));
        int32_t status = check_answer_schema(entry, value_value_at(answers, i), error);
        if (status != TN_OK) return status;
    }
    /* Interrupts may be answered in any order. But if all entries are interrupts, the run cannot continue without one.
     */
    tn_value unanswered = NULL;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i);
        if (!value_get(entry, "payload")) return TN_OK;
        unanswered = unanswered ? unanswered : entry;
    }
    if (!unanswered || count) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the interrupt `%s` of node `%s` has no answer",
                     value_chars(value_get(unanswered, "id"), NULL), value_chars(value_get(unanswered, "node"), NULL));
}

/* The record is put as a whole, because a patch would lose null values in answers. */
static tn_value add_answers(tn_value record, tn_value answers) {
    tn_value saved = value_get(record, "answers"), all = value_is(saved, TN_OBJECT) ? value_ref(saved) : value_object();
    for (size_t i = 0; i < value_count(answers); i++)
        all = value_set_key_take(all, value_ref(value_key_at(answers, i)), value_ref(value_value_at(answers, i)));
    return value_set_take(value_ref(record), "answers", all);
}

/* TN_OK if the answers can be saved in the record. */
static int32_t check_answerable(const char *id, tn_value record, tn_value answers, struct error *error) {
    tn_value interrupts = value_get(record, "interrupts");
    if (!value_text_is(value_get(record, "status"), "interrupted") || !value_is(interrupts, TN_ARRAY))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the thread `%s` has no open interrupt; its status is %s",
                         id, thread_record_text(record, "status"));
    return thread_interrupts_check(interrupts, answers, error);
}

int32_t thread_interrupts_answer_take(struct session *session, const char *id, tn_value found, tn_value answers,
                                      tn_value also, struct error *error) {
    char key[THREAD_KEY_MAX];
    tn_value record = value_get(found, "value");
    int32_t status = check_answerable(id, record, answers, error);
    if (status != TN_OK) {
        value_unref(also);
        return status;
    }
    thread_key(key, id);
    tn_value put = store_put(STORE_THREADS, key, add_answers(record, answers));
    tn_value batch =
        value_push_take(value_array_reserve(2), store_if_version(put, thread_record_int(found, "version", 0)));
    return session_commit_take(session, also ? value_push_take(batch, also) : batch, NULL, error);
}
