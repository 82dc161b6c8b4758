/*
 * fuzz_manifest.c - reads any bytes as the notes of a plugin, separated by NUL: they are refused with the name of the
 * file, or merged to a valid manifest, in any order of the notes.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOTES_MAX 16

static void require(bool truth) {
    if (!truth) abort();
}

static void count_message(void *user, const char *message) {
    require(strncmp(message, "x.so: ", 6) == 0);
    ++*(size_t *)user;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct manifest_note notes[NOTES_MAX], backwards[NOTES_MAX];
    size_t count = 0, messages = 0;
    for (size_t at = 0; at <= size && count < NOTES_MAX;) {
        const uint8_t *end = at < size ? memchr(data + at, 0, size - at) : NULL;
        size_t length = end ? (size_t)(end - data) - at : size - at;
        notes[count++] = (struct manifest_note){(const char *)data + at, length};
        at += length + 1;
    }
    for (size_t i = 0; i < count; i++) backwards[i] = notes[count - 1 - i];
    struct error error = ERROR_INIT;
    tn_value manifest = NULL, other = NULL;
    int32_t status = manifest_merge("x.so", notes, count, &manifest, &error);
    int32_t reversed = manifest_merge("x.so", backwards, count, &other, NULL);
    require((status == TN_OK) == (reversed == TN_OK)); /* the linker's order must not matter */
    if (status == TN_OK) {
        require(manifest_check("x.so", manifest, NULL) == TN_OK);
        require(manifest_text(manifest_plugin(manifest), "id")[0] != 0);
        require(value_count(manifest_components(manifest)) == value_count(manifest_components(other)));
        (void)manifest_validate("x.so", manifest, count_message, &messages);
        require(messages <= MANIFEST_PROBLEMS_MAX);
    } else {
        require(manifest == NULL && error.code != NULL && strncmp(error.message, "x.so: manifest: ", 16) == 0);
    }
    value_unref(manifest);
    value_unref(other);
    error_finish(&error);
    return 0;
}
