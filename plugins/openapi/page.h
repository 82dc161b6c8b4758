/*
 * page.h - the pages of an operation's result, as far as the description declares how to get the next one.
 *
 * A GET operation has pages if its successful response declares one of these, in this order:
 *   a Link Object to the operation itself    the parameters of the next request (OpenAPI 3.1, 4.8.20)
 *   x-speakeasy-pagination                   a cursor for a parameter, or a URL, in the body
 *   x-fern-pagination                        a cursor for a parameter, in the body
 *   x-ms-pageable                            a URL in the body
 *   a header `Link`                          a URL with the relation `next` (RFC 8288)
 * Its tool then has the argument `max_pages`. A call with more than one page has the result {items, pages, more}, or
 * {bodies, pages, more} if the pages are not lists. `more` is true if the service has further pages.
 *
 * A URL is requested only at the origin of the page that names it. The pages of a call have at most `max_bytes` of the
 * service in all: a page beyond it is not part of the result.
 */
#ifndef TENON_PLUGINS_OPENAPI_PAGE_H
#define TENON_PLUGINS_OPENAPI_PAGE_H

#include "operation.h"

#define PAGES_MAX      100u /* of a call */
#define PAGES_ARGUMENT "max_pages"

/* The pages of a call so far. */
struct pages {
    uint32_t limit, count; /* limit: 0 or 1: the result is the answer itself */
    int64_t bytes;
    tn_value bodies; /* an array; NULL if there are none */
    bool more;
};

/* Fills operation->paging from the Operation Object. */
void paging_read(struct service_reader *reader, struct operation *operation, struct document_node node);
void paging_finish(struct paging *paging);

/*
 * Adds the body of an answer; `bytes` is its length. Returns false if it does not fit any more.
 */
bool pages_add(struct pages *pages, const struct service *service, tn_value body, int64_t bytes);
/*
 * The URL of the next page after `end`, which answered a request to `url`. A new reference; NULL if there is none. Sets
 * pages->more if there is one that is not requested.
 */
tn_value pages_next_url(struct pages *pages, const struct paging *paging, const char *url, tn_value end, tn_value body);
/* The arguments of the call for the next page. A new reference; NULL if there is none. */
tn_value pages_next_arguments(struct pages *pages, const struct operation *operation, tn_value arguments, tn_value end,
                              tn_value body);
/* The result of the call: a new reference, or NULL. */
tn_value pages_make_result(const struct pages *pages, const struct paging *paging);
void pages_finish(struct pages *pages);

#endif
