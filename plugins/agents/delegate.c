/*
 * delegate.c - `delegate`: runs one of several documents, which an expression selects at run time.
 *
 * The names of the documents are data, for example options that a run got. So nothing is bound in create: the host
 * finds, checks and builds the document when it is needed (document.run_file), with the rights of this node.
 */
#include "agents.h"

struct delegate_input {
    tn_value name;       /* borrowed from the configuration, which outlives the instance */
    uint32_t expression; /* TN_UNBOUND: literal */
    tn_value literal;    /* borrowed, as `name` */
};

struct delegate {
    uint32_t select, documents, output;
    uint64_t input_count, offered_count;
    struct delegate_input inputs[]; /* of `input`, then of `offered` */
};

/* One run of a document. */
struct delegation {
    const struct delegate *delegate;
    tn_task task;
};

static int32_t delegate_bind_inputs(struct delegate_input *inputs, tn_value from, tn_binder *binder) {
    int32_t status = TN_OK;
    for (uint64_t i = 0, count = tn.value->count(from); i < count && status == TN_OK; i++) {
        uint64_t length;
        struct delegate_input *input = &inputs[i];
        status = tn.value->entry(from, i, &input->name, &input->literal);
        const char *text = status == TN_OK ? tn_chars(input->literal, &length) : NULL;
        input->expression = TN_UNBOUND;
        if (text != NULL) status = tn.eval->bind_expression(binder, text, length, &input->expression);
    }
    return status;
}

static int32_t delegate_create(tn_value config, tn_binder *binder, void **self) {
    tn_value inputs = tn_get(config, "input"), offered = tn_get(config, "offered");
    if (agents_documents == NULL)
        return tn_refuse("INTERFACE_MISSING",
                         "this node needs the interface " TN_DOCUMENT_DRAFT ", which this host does not provide");
    uint64_t input_count = tn.value->count(inputs), offered_count = tn.value->count(offered);
    struct delegate *delegate =
        agents_alloc_zeroed(sizeof(*delegate) + (input_count + offered_count) * sizeof(delegate->inputs[0]));
    if (delegate == NULL) return TN_NO_MEMORY;
    delegate->input_count = input_count;
    delegate->offered_count = offered_count;
    int32_t status = tn.eval->bind_expression(binder, tn_get_text(config, "select", ""), TN_Z, &delegate->select);
    if (status == TN_OK)
        status = tn.eval->bind_expression(binder, tn_get_text(config, "documents", ""), TN_Z, &delegate->documents);
    if (status == TN_OK) status = delegate_bind_inputs(delegate->inputs, inputs, binder);
    if (status == TN_OK) status = delegate_bind_inputs(delegate->inputs + input_count, offered, binder);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &delegate->output);
    if (status == TN_OK)
        *self = delegate;
    else
        agents_release(delegate);
    return status;
}

/* ---- Which document ---- */

/* Fails the task: no document has this name. The message lists those that exist, as far as it has room. */
static void delegate_fail_unknown(tn_task task, tn_value name, tn_value documents) {
    struct tn_text_buffer names = {0};
    for (uint64_t i = 0, count = tn.value->count(documents); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(documents, i, &key, &value) != TN_OK) break;
        tn_text_append(&names, i > 0 ? ", `" : "`");
        tn_text_append(&names, tn_chars(key, NULL));
        tn_text_append(&names, "`");
    }
    tn_value list = tn_text_finish(&names);
    const char *known = tn_chars(list, NULL);
    if (known != NULL && *known != '\0')
        (void)agents_fail(task, "NOT_FOUND", NULL, "no document has the name `%.200s`; expected one of %.700s",
                          tn_chars(name, NULL), known);
    else
        (void)agents_fail(task, "NOT_FOUND", NULL, "no document has the name `%.200s`: `documents` is empty",
                          tn_chars(name, NULL));
    tn_release(list);
}

/* The document's path, a new reference. NULL if the task has failed. */
static tn_value delegate_find(const struct delegate *delegate, tn_task task) {
    tn_value documents = tn_evaluate(task, delegate->documents);
    tn_value name = documents != NULL ? tn_evaluate(task, delegate->select) : NULL, path = NULL;
    if (name == NULL) {
        tn_release(documents);
        return NULL;
    }
    if (tn.value->kind(documents) != TN_OBJECT || tn.value->kind(name) != TN_STRING) {
        (void)agents_fail(task, "TYPE", NULL,
                          "`select` must return a text, and `documents` a map of names to documents");
    } else {
        tn_value entry = tn_get_key(documents, name);
        tn_value found = tn.value->kind(entry) == TN_OBJECT ? tn_get(entry, "document") : entry;
        if (entry == NULL)
            delegate_fail_unknown(task, name, documents);
        else if (found == NULL || tn.value->kind(found) != TN_STRING)
            (void)agents_fail(task, "TYPE", NULL,
                              "`documents` has no document for `%.200s`: expected its name, or {document: NAME}",
                              tn_chars(name, NULL));
        else
            path = tn_retain(found);
    }
    tn_release(documents);
    tn_release(name);
    return path;
}

/* ---- The run ---- */

/* Adds an object with the values. Returns false if the task has failed. */
static bool delegate_put_inputs(const struct delegate_input *inputs, uint64_t count, const char *key, tn_task task,
                                tn_builder *out) {
    bool ok = true;
    tn_put_begin(out, key, TN_OBJECT);
    for (uint64_t i = 0; i < count && ok; i++) {
        tn_value value =
            inputs[i].expression == TN_UNBOUND ? tn_retain(inputs[i].literal) : tn_evaluate(task, inputs[i].expression);
        ok = value != NULL;
        if (ok) tn_put_key_take(out, inputs[i].name, value);
    }
    tn.value->end(out);
    return ok;
}

/* The arguments of document.run_file, a new reference. NULL if the task has failed. */
static tn_value delegate_arguments(const struct delegate *delegate, tn_task task) {
    tn_value path = delegate_find(delegate, task);
    if (path == NULL) return NULL;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_take(out, "document", path);
    bool ok =
        delegate_put_inputs(delegate->inputs, delegate->input_count, "input", task, out) &&
        delegate_put_inputs(delegate->inputs + delegate->input_count, delegate->offered_count, "offered", task, out);
    tn.value->end(out);
    tn_value arguments = tn_finish(out);
    if (ok) return arguments;
    tn_release(arguments);
    return NULL;
}

static int32_t delegate_on_result(void *user, int32_t status, tn_value result) {
    struct delegation *delegation = user;
    const struct delegate *delegate = delegation->delegate;
    tn_task task = delegation->task;
    agents_release(delegation);
    if (status != TN_OK) {
        (void)agents_fail_with(task, status, result);
        return TN_OK;
    }
    if (delegate->output != TN_UNBOUND) status = tn.task->write(task, delegate->output, result);
    if (status == TN_OK)
        (void)tn_done(task);
    else
        (void)tn_fail(task, "CHANNEL", "the channel did not accept the result of the document");
    return TN_OK;
}

static int32_t delegate_start(void *self, tn_task task, tn_value input) {
    const struct delegate *delegate = self;
    (void)input;
    tn_value arguments = delegate_arguments(delegate, task);
    if (arguments == NULL) return TN_FAILED;
    struct delegation *delegation = agents_alloc_zeroed(sizeof(*delegation));
    int32_t status = TN_NO_MEMORY;
    if (delegation != NULL) {
        *delegation = (struct delegation){delegate, task};
        status = agents_documents->invoke(task, "document.run_file", TN_Z, arguments, NULL, delegate_on_result,
                                          delegation, NULL);
    }
    tn_release(arguments);
    if (status != TN_OK && delegation != NULL) agents_release(delegation);
    return status;
}

TN_COMPONENT(delegate, "delegate", delegate_create, delegate_start, NULL, NULL, agents_release)
