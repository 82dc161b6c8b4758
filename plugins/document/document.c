/*
 * document.c - the plugin `tenon.document`: tools that check and run ADL documents. A document from a model is checked
 * before any of it runs. Errors are reported with the text of `tenon check`, so that the model can correct them. A run
 * can do anything that the host can, except read files outside `files.roots`, so by default it needs approval; the
 * policy of the surrounding document can change that.
 */
#include <tenon/document.h>
#include <tenon/easy.h>

TN_PLUGIN("tenon.document", "0.1.0", "Documents checked and run, as tools")

static const tn_document_draft *documents;

static int32_t document_init(void *self, tn_value config) {
    (void)self, (void)config;
    documents = tn_easy_interface(tn.host, TN_DOCUMENT_DRAFT, sizeof(*documents));
    return documents != NULL ? TN_OK : TN_UNSUPPORTED;
}

TN_LIFECYCLE(document_init, NULL, NULL)

static int32_t document_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder;
    *self = NULL;
    return TN_OK;
}

/* The `user` pointer of a call is its task: a token fits into a pointer. */
static int32_t document_done(void *user, int32_t status, tn_value result) {
    tn_task task = (tn_task)(uintptr_t)user;
    if (status == TN_OK)
        (void)tn.task->complete(task, result);
    else if (status == TN_CANCELLED)
        (void)tn_fail(task, "CANCELLED", "cancelled");
    else
        (void)tn_fail_with(task, result);
    return TN_OK;
}

#define DOCUMENT_TOOL(name, id)                                                                                        \
    static int32_t name##_begin(void *self, tn_task task, tn_value input) {                                            \
        (void)self;                                                                                                    \
        return documents->invoke(task, id, TN_Z, input, NULL, document_done, (void *)(uintptr_t)task, NULL);           \
    }                                                                                                                  \
    TN_COMPONENT(name, id, document_create, name##_begin, NULL, NULL, NULL)

DOCUMENT_TOOL(document_check, "document.check")
DOCUMENT_TOOL(document_run, "document.run")
