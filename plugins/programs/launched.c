/*
 * launched.c - the arrays of pointers around the strings of what the host has prepared.
 */
#include "launched.h"
#include <stdio.h>

/* A NULL-terminated array of the strings of `list`, or NULL if memory runs out. */
static char **launched_pointers(tn_value list) {
    uint64_t count = tn.value->count(list);
    char **pointers = tn.core->alloc(tn.host, (count + 1) * sizeof *pointers);
    if (pointers == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++) pointers[i] = (char *)(uintptr_t)tn_chars(tn.value->at(list, i), NULL);
    pointers[count] = NULL;
    return pointers;
}

int32_t launched_init(struct launched *launched, const tn_launch_draft *launch, tn_value request, const char **code,
                      char *why, size_t size) {
    *launched = (struct launched){.prepared = NULL};
    *code = "PLUGIN_REFUSED";
    if (launch == NULL) {
        (void)snprintf(why, size, "the host does not offer " TN_LAUNCH_DRAFT);
        return TN_UNSUPPORTED;
    }
    tn_value error = NULL;
    int32_t status = request != NULL ? launch->prepare(tn.host, request, &launched->prepared, &error) : TN_NO_MEMORY;
    if (status == TN_OK) {
        launched->path = tn_get_text(launched->prepared, "program", "");
        int32_t sandboxed = 0;
        (void)tn.value->as_bool(tn_get(launched->prepared, "sandboxed"), &sandboxed);
        launched->sandboxed = sandboxed != 0;
        launched->arguments = launched_pointers(tn_get(launched->prepared, "arguments"));
        launched->environment = launched_pointers(tn_get(launched->prepared, "environment"));
        if (launched->arguments != NULL && launched->environment != NULL) return TN_OK;
        status = TN_NO_MEMORY;
    } else {
        launched->prepared = error; /* keeps what *code points to */
        *code = tn_get_text(error, "code", *code);
    }
    (void)snprintf(why, size, "%s",
                   status == TN_NO_MEMORY ? "not enough memory"
                                          : tn_get_text(launched->prepared, "message", "refused"));
    return status;
}

void launched_finish(struct launched *launched) {
    tn.core->release(tn.host, (void *)launched->arguments);
    tn.core->release(tn.host, (void *)launched->environment);
    tn_release(launched->prepared);
    *launched = (struct launched){.prepared = NULL};
}
