/*
 * fuzz_json.c - reads any bytes as JSON: a value that is read must survive each style of writing, without a leak.
 *
 * The first byte selects the bound on depth. An error must have a span within the text and a message in UTF-8.
 */
#include <assert.h>
#include <string.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void comes_back(tn_value value, enum json_style style) {
    char *text = json_text(value, style);
    tn_value again = NULL;
    int32_t status = json_read(text, strlen(text), NULL, &again, NULL);
    assert(status == TN_OK);
    assert(style == JSON_SORTED ? value_equal(value, again) : value_identical(value, again));
    assert(value_hash(value) == value_hash(again));
    char *text_again = json_text(again, style);
    assert(strcmp(text, text_again) == 0);
    (void)status;
    mem_free(text_again);
    mem_free(text);
    value_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    int64_t live = value_live_count();
    struct json_limits limits = {.depth = data[0]};
    const char *text = (const char *)data + 1;
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    int32_t status = json_read(text, size - 1, &limits, &value, &error);
    if (status == TN_OK) {
        assert(utf8_valid(text, size - 1));
        comes_back(value, JSON_COMPACT);
        comes_back(value, JSON_INDENTED);
        comes_back(value, JSON_SORTED);
        tn_value merged = value_merge_patch(value, value);
        value_unref(merged);
        value_unref(value);
    } else {
        assert(value == NULL && (status == TN_INVALID || status == TN_LIMIT));
        assert(error.span.start <= error.span.end && error.span.end <= size - 1);
        assert(utf8_valid(error.message, strlen(error.message)));
    }
    error_finish(&error);
    assert(value_live_count() == live);
    (void)live;
    return 0;
}
