/*
 * thread_interrupts.c - validates answers to saved interrupts.
 */
#include "host/data/thread/thread_interrupts.h"
#include "adl/schema/schema.h"

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
