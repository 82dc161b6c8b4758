/*
 * wrongs.c - a plugin that violates the contract in several ways, for tests/e2e/guard.sh.
 */
#include <pthread.h>
#include <string.h>
#include <tenon/document.h>
#include <tenon/easy.h>
#include <tenon/host.h>
#include <tenon/registry.h>
#include <time.h>

TN_PLUGIN("test.wrongs", "1.0.0", "Violates the contract")
TN_NOTE("{\"plugin\": {\"optional\": [\"" TN_HOST_1 "\"], \"effects\": [\"host.method:run/list\"]}}")

static tn_value kept;

static void *read_on_another_thread(void *argument) {
    tn_value value = tn_read(*(tn_task *)argument, 0);
    tn.value->release(value);
    return NULL;
}

static void use_cpu(double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

/* ---- Payloads ---- */

static tn_value read_json(const char *json) {
    tn_value value = NULL;
    return tn.value->from_json(tn.host, json, TN_Z, &value, NULL) == TN_OK ? value : NULL;
}

static int32_t complete_json(tn_task task, const char *json) {
    tn_value value = read_json(json);
    int32_t status = tn.task->complete(task, value);
    tn_release(value);
    return status;
}

static int32_t fail_json(tn_task task, const char *json) {
    tn_value value = read_json(json);
    int32_t status = tn.task->fail(task, value);
    tn_release(value);
    return status;
}

static void emit_json(tn_task task, const char *json) {
    tn_value value = read_json(json);
    tn.task->emit(task, value);
    tn_release(value);
}

/* ---- Correct uses of interfaces that return values ---- */

static void release_error_of_add(void) {
    const tn_registry_1 *registry = tn_easy_interface(tn.host, TN_REGISTRY_1, sizeof *registry);
    tn_value component = read_json("{\"kind\": \"tool\"}"), error = NULL;
    if (registry && registry->add(tn.host, component, &error) == TN_FAILED) tn_release(error);
    tn_release(component);
}

TN_NODE_BLOCKING(right, "test.right", "Releases what tenon.document returns.", TN_PURE) {
    const tn_document_draft *documents = tn_easy_interface(tn.host, TN_DOCUMENT_DRAFT, sizeof *documents);
    tn_value arguments = read_json("{\"text\": \"version: '1.0'\"}"), result = NULL, error = NULL;
    (void)config, (void)input;
    if (!documents) return tn_fail(task, "UNSUPPORTED", "drafts are not allowed");
    int32_t status = documents->invoke_wait(task, "document.check", TN_Z, arguments, NULL, &result, &error);
    tn_release(arguments);
    tn_release(result);
    tn_release(error);
    return status == TN_OK ? tn_done(task) : tn_fail(task, "FAILED", "document.check failed");
}

/* Uses a result that was lent to the handler before. */
static void TN_ABI on_result(void *user, int32_t status, tn_value value) {
    tn_task *task = user;
    (void)status;
    if (kept) tn.value->count(kept);
    kept = value;
    (void)tn_done(*task);
    tn.core->release(tn.host, task);
}

static int32_t request_runs(tn_task task) {
    const tn_host_1 *methods = tn_easy_interface(tn.host, TN_HOST_1, sizeof *methods);
    tn_task *open = tn.core->alloc(tn.host, sizeof *open);
    uint64_t request;
    if (!methods || !open) return TN_UNSUPPORTED;
    *open = task;
    return methods->request(tn.host, "run/list", TN_Z, NULL, on_result, open, &request);
}

TN_NODE(wrong, "test.wrong", "Does something wrong.", TN_PURE, (TEXT, what, "what"), (READ, in, "a channel"),
        (WRITE, out, "a channel")) {
    if (strcmp(config->what, "twice") == 0) {
        tn.task->complete(task, NULL);
        tn.task->complete(task, NULL);
        return TN_OK;
    }
    if (strcmp(config->what, "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, read_on_another_thread, &task) == 0) pthread_join(thread, NULL);
    }
    if (strcmp(config->what, "hold") == 0) use_cpu(0.02);
    if (strcmp(config->what, "leak") == 0) {
        tn_value text = tn_text_n("this is never released", 22);
        tn.task->write(task, config->out, text);
    }
    if (strcmp(config->what, "refused") == 0) release_error_of_add();
    if (strcmp(config->what, "late") == 0) {
        if (kept) tn.value->count(kept); /* it was borrowed for the previous call */
        kept = input;
    }
    if (strcmp(config->what, "result") == 0) return request_runs(task);
    if (strcmp(config->what, "output") == 0) return complete_json(task, "{\"goto\": 7}");
    if (strcmp(config->what, "chunk") == 0) emit_json(task, "{\"messages\": {\"content\": 7}}");
    if (strcmp(config->what, "error") == 0) return fail_json(task, "{\"code\": \"Not Found\", \"message\": \"no\"}");
    if (strcmp(config->what, "no_error") == 0) return tn.task->fail(task, NULL);
    return tn_done(task);
}

/* A model that does what the name of the model says. */

TN_NOTE("{\"component\": {\"kind\": \"model\", \"id\": \"test.wrong_model\", \"title\": \"Violates the contract\","
        " \"documentation\": \"Has invalid payloads.\", \"style\": \"async\", \"effects\": [],"
        " \"config\": {\"type\": \"object\"}}}")

static int32_t model_create(tn_value config, tn_binder *binder, void **self) {
    (void)binder;
    *self = (void *)(uintptr_t)tn_retain(tn_get(config, "model"));
    return TN_OK;
}

static int32_t model_start(void *self, tn_task task, tn_value input) {
    const char *what = tn_chars(self, NULL);
    (void)input;
    if (strcmp(what, "delta") == 0) emit_json(task, "{\"content\": \"a\"}");
    if (strcmp(what, "delta") == 0) emit_json(task, "{\"text\": \"b\"}");
    if (strcmp(what, "role") == 0)
        return complete_json(
            task, "{\"message\": {\"role\": \"assistant\", \"content\": \"\"}, \"finish_reason\": \"stop\"}");
    if (strcmp(what, "reason") == 0)
        return complete_json(task, "{\"message\": {\"type\": \"ai\", \"content\": \"\"}, \"finish_reason\": \"done\"}");
    return complete_json(task, "{\"message\": {\"type\": \"ai\", \"content\": \"\"}, \"finish_reason\": \"stop\"}");
}

static void model_destroy(void *self) { tn_release(self); }

TN_COMPONENT(wrong_model, "test.wrong_model", model_create, model_start, NULL, NULL, model_destroy)
