/*
 * link.h - the names of files and documents in a text, which an editor can open.
 *
 *     struct assist_links *links = assist_links(assist);
 *     for (uint32_t i = 0; i < links->count; i++) show(links->items[i].span, links->items[i].target);
 *     assist_links_free(links);
 *
 * A target is as written: relative to the folder of the document, or a name such as "pack:acme/triage.yaml". The caller
 * resolves it, and leaves out what it cannot open.
 */
#ifndef TENON_ADL_ASSIST_LINK_H
#define TENON_ADL_ASSIST_LINK_H

#include "adl/assist/assist.h"

#define ASSIST_LINKS_MAX 5000u /* further ones are left out */

struct assist_link {
    struct span span; /* without quotes */
    char *target;
    bool document; /* a document of the language; otherwise any file */
};

struct assist_links {
    struct assist_link *items; /* in the order of the text */
    uint32_t count, capacity;
};

/* Never NULL. Valid without the assist. Any thread. */
struct assist_links *assist_links(const struct assist *assist);
void assist_links_free(struct assist_links *links); /* NULL is allowed */

#endif
