/* URLs and references to them: what is read is written, and read again, as the same. Lines: a base, and a reference. */
#include "adl/value/memory.h"
#include "host/base/url.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = mem_text_n((const char *)data, size), *line = memchr(text, '\n', size);
    size_t length = line ? (size_t)(line - text) : size;
    struct url base, url, again;
    if (line) *line++ = 0;
    if (!url_read(&base, text, length, NULL)) {
        if (line && !url_read(&url, line, size - length - 1, &base)) {
            struct buffer first, second;
            buffer_init(&first, SIZE_MAX);
            buffer_init(&second, SIZE_MAX);
            url_write(&first, &url);
            if (!url_read(&again, first.data, first.length, NULL)) {
                url_write(&second, &again);
                if (strcmp(first.data, second.data) != 0 || !url_same_origin(&url, &again)) abort();
                url_finish(&again);
            } else if (first.length <= URL_MAX) {
                abort(); /* longer than what is read, with its host */
            }
            if (!url_matches(&url, url.host)) abort();
            buffer_finish(&first);
            buffer_finish(&second);
            url_finish(&url);
        }
        url_finish(&base);
    }
    mem_free(text);
    return 0;
}
