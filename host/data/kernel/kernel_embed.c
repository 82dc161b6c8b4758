/*
 * kernel_embed.c - asks a model for the vector of a memory or of a search before the operation of the kernel runs.
 *
 * Arguments that are wrong are passed on as they are: the operation refuses them, so that there is one place for that.
 */
#include "host/data/kernel/kernel_embed.h"
#include "adl/value/memory.h"
#include "host/data/kernel/kernel_memory.h"
#include "host/data/kernel/kernel_words.h"
#include "host/plugin/call/call.h"
#include <string.h>
#include <tenon/store.h>

struct embedding {
    struct kernel kernel;
    const struct kernel_operation *operation;
    tn_value arguments;
    char *thread_id, *owner; /* owned; or NULL */
    store_done *done;
    void *user;
};

static bool is_given(tn_value arguments, const char *name) {
    tn_value value = value_get(arguments, name);
    return value && !value_is(value, TN_NULL);
}

/* The text that memory.put makes searchable, or NULL. A new reference. */
static tn_value text_of_put(tn_value arguments, size_t bytes) {
    tn_value text = value_get(arguments, "text");
    if (is_given(arguments, "vector")) return NULL;
    if (!is_given(arguments, "text") || text == value_bool(true))
        return kernel_words_of(value_get(arguments, "value"), bytes);
    return value_is(text, TN_STRING) ? kernel_words_of(text, bytes) : NULL;
}

static tn_value text_of_search(tn_value arguments, size_t bytes) {
    tn_value similar = value_get(arguments, "similar");
    if (is_given(arguments, "query") || is_given(arguments, "vector") || !value_is(similar, TN_STRING)) return NULL;
    return kernel_words_of(similar, bytes);
}

/* The text whose vector the arguments need; NULL if they need none. A new reference. */
static tn_value text_to_embed(const char *operation, tn_value arguments, size_t bytes) {
    tn_value text = NULL;
    if (!value_is(arguments, TN_OBJECT)) return NULL;
    if (strcmp(operation, "memory.put") == 0) text = text_of_put(arguments, bytes);
    if (strcmp(operation, "memory.search") == 0) text = text_of_search(arguments, bytes);
    size_t length = 0;
    const char *chars = text ? value_chars(text, &length) : "";
    bool blank = strspn(chars, " \t\r\n") == length;
    if (text && blank) value_unref(text);
    return blank ? NULL : text;
}

/* Some models make another vector for a text that searches than for one that is to be found. */
static tn_value embed_input_take(tn_value text, const struct kernel_embedder *embedder, const char *operation) {
    tn_value input = value_set_take(value_object_reserve(2), "embed", value_push_take(value_array_reserve(1), text));
    const char *purpose = strcmp(operation, "memory.search") == 0 ? "query" : "document";
    tn_value options = value_set_take(value_object_reserve(2), "purpose", value_text(purpose));
    if (embedder->dimensions) options = value_set_take(options, "dimensions", value_int(embedder->dimensions));
    return value_set_take(input, "options", options);
}

static void embedding_free(struct embedding *self) {
    value_unref(self->arguments);
    mem_free(self->thread_id);
    mem_free(self->owner);
    mem_free(self);
}

static void embedding_fail(struct embedding *self, int32_t status, const struct error *error) {
    self->done(self->user, status, NULL, error);
    embedding_free(self);
}

static void on_embedded(void *user, int32_t status, tn_value result) {
    struct embedding *self = user;
    struct error error = ERROR_INIT;
    tn_value vectors = status == TN_OK ? value_get(result, "embeddings") : NULL;
    tn_value vector = value_is(vectors, TN_ARRAY) && value_count(vectors) ? value_at(vectors, 0) : NULL;
    if (status == TN_CANCELLED) {
        error_set(&error, TN_CANCELLED, "CANCELLED", "the call was cancelled");
    } else if (status != TN_OK) {
        struct error inner = ERROR_INIT;
        error_from_value(&inner, result);
        tn_value more = inner.more ? value_ref(inner.more) : NULL;
        error_set(&error, status, inner.code, "the model of `memory.embed` in tenon.yaml: %s", inner.message);
        value_unref(error.more);
        error.more = more;
        error_finish(&inner);
    } else if (!value_is(vector, TN_ARRAY) || value_count(vector) > TN_STORE_VECTOR_MAX) {
        status = error_set(&error, TN_INVALID, "INVALID_RESPONSE",
                           "the model of `memory.embed` in tenon.yaml: found %zu numbers in the vector, expected at "
                           "most %d",
                           value_count(vector), TN_STORE_VECTOR_MAX);
    }
    if (error.code) {
        embedding_fail(self, status, &error);
        error_finish(&error);
        return;
    }
    tn_value arguments = value_set_take(value_ref(self->arguments), "vector", value_ref(vector));
    arguments = value_remove_take(arguments, value_text("similar"));
    const struct kernel_caller caller = {self->thread_id, self->owner};
    kernel_call_for(&self->kernel, self->operation, &caller, arguments, self->done, self->user);
    value_unref(arguments);
    embedding_free(self);
}

static void embed_take(const struct kernel_embedder *embedder, tn_value text, uint64_t token, struct embedding *self) {
    tn_value input = embed_input_take(text, embedder, kernel_operation_name(self->operation));
    struct error error = ERROR_INIT;
    int32_t status = call_child(token, embedder->model, true, input, on_embedded, self);
    value_unref(input);
    if (status == TN_OK) return;
    if (status == TN_CANCELLED || status == TN_STALE)
        error_set(&error, status, "CANCELLED", "the call was cancelled");
    else
        error_set(&error, status, "LIMIT", "calls are nested too deeply to call the model of `memory.embed`");
    embedding_fail(self, status, &error);
    error_finish(&error);
}

void kernel_call_with_vector(const struct kernel_source *source, const struct kernel *kernel,
                             const struct kernel_operation *operation, uint64_t token,
                             const struct kernel_caller *caller, tn_value arguments, store_done *done, void *user) {
    const char *name = kernel_operation_name(operation);
    struct kernel_embedder embedder = {NULL, 0, MEMORY_TEXT_MAX};
    struct error error = ERROR_INIT;
    tn_value text = source->embedder ? text_to_embed(name, arguments, MEMORY_TEXT_MAX) : NULL;
    int32_t status = text ? source->embedder(source->user, &embedder, &error) : TN_OK;
    value_unref(text);
    if (status != TN_OK) {
        done(user, status, NULL, &error);
        error_finish(&error);
        return;
    }
    text = embedder.model ? text_to_embed(name, arguments, embedder.bytes) : NULL;
    if (!text) {
        kernel_call_for(kernel, operation, caller, arguments, done, user);
        return;
    }
    struct embedding *self = mem_alloc(sizeof *self);
    *self = (struct embedding){.kernel = *kernel,
                               .operation = operation,
                               .arguments = value_ref(arguments),
                               .thread_id = caller->thread_id ? mem_text(caller->thread_id) : NULL,
                               .owner = caller->owner ? mem_text(caller->owner) : NULL,
                               .done = done,
                               .user = user};
    embed_take(&embedder, text, token, self);
}
