/*
 * store_cases.h - runs the conformance suite of stores, those of sdk/store/conformance, with one store.
 *
 * sdk/store/conformance/README.md describes the form of the cases. Each case opens a new store. A case that fails is
 * reported with its name and the call that was wrong, and the next one runs.
 *
 *     struct store_cases cases = {.vtable = vtable, .self = self, .folder = "/tmp/x", .set_elapsed = set_elapsed, …};
 *     for (size_t i = 0; i < store_cases_file_count; i++) store_cases_run(&cases, &store_cases_files[i]);
 *
 * Thread: the one that the store's functions are called on.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_STORE_CASES_H
#define TENON_HOST_PLUGIN_CONFORMANCE_STORE_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/store.h>

struct store_cases {
    const tn_store_draft *vtable;
    void *self; /* the plugin's, for vtable->open */
    const char *folder;
    tn_value options; /* an object: further options for every case; NULL: none. Borrowed. */
    /* Sets the time that the store reads to 2026-01-01T00:00:00Z plus this. NULL: cases that advance it are left out.
     */
    void (*set_elapsed)(void *user, int64_t ms);
    /* `where` is the file and the case; both are valid during the call. */
    void (*failed)(void *user, const char *where, const char *message);
    void *user;
    bool messages;  /* compare messages too: those of the SDK's parts of stores */
    unsigned count; /* cases that have run; each has its own location */
    /*
     * All cases use one location, which stays open, because opening it takes long; store_cases_finish closes it. Each
     * case then removes the records of its collections.
     */
    bool shares_store;
    tn_store *shared; /* zero it at first */
};

/* A file of cases, compiled in. */
struct store_cases_file {
    const char *name, *text;
};
extern const struct store_cases_file store_cases_files[];
extern const size_t store_cases_file_count;

void store_cases_run(struct store_cases *cases, const struct store_cases_file *file);
void store_cases_finish(struct store_cases *cases);

#endif
