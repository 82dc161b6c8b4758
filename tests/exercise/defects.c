/*
 * defects.c - a plugin with the defect that DEFECT names, for tests/e2e/exercise.sh. Each defect leads to one finding
 * of `tenon plugin check`; NONE has no findings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <tenon/state.h>
#include <tenon/tool.h>
#include <time.h>

#define NONE               0
#define CRASHES            1  /* on a configuration that its schema allows */
#define LEAKS_VALUES       2  /* each run leaks one value */
#define LEAKS_MEMORY       3  /* each instance leaks memory */
#define UNCHECKED_ALLOC    4  /* does not check for a failed allocation */
#define LEAKS_ON_FAILURE   5  /* leaks memory if a later allocation fails */
#define IGNORES_CANCEL     6  /* ignores a cancel */
#define HANGS              7  /* never returns */
#define PRINTS             8  /* writes to standard output while it runs */
#define IMPURE             9  /* returns the number of its runs */
#define NOT_THREAD_SAFE    10 /* runs share a buffer */
#define DIFFERS            11 /* depends on the host's environment */
#define REFUSES            12 /* everything that its schema allows */
#define BAD_EXAMPLE        13 /* an example that its schema does not allow */
#define REFUSED_EXAMPLE    14 /* an example that create refuses */
#define WRONG_EXAMPLE      15 /* an example with another output */
#define ENDS_TWICE         16
#define CRASHES_ON_INVALID 17 /* on a configuration that its schema does not allow */
#define EXITS              18
#define LEAKS_IN_INSTANCE  19 /* each instance leaks a value */
#define CRASHES_IN_DESTROY 20 /* in destroy, after a cancel */
#define UNKNOWN_EFFECT     21 /* an unknown effect */
#define WRONG_SHAPE        22 /* an output that no node may have */
#define BAD_SHAPE_EXAMPLE  23 /* an example with such an output */
#define SLOW               24 /* each run takes long */
#define REQUESTS_DRAFT     25 /* create requests a draft that the manifest does not declare */
#define WRONG_OUTPUT       26 /* an output that its manifest does not allow */
#define LEAKS_HEAP         27 /* each run leaks memory of malloc */
#define LEAKS_MEGABYTES    28 /* the same, much */
#define LEAKS_ON_CANCEL    29 /* each cancelled run leaks a value */
#define LEAKS_IN_INIT      30 /* the plugin leaks one value */
#define FILLS_CACHE        31 /* not a defect: keeps the results of its first runs */
#define MISSING_COMPONENT  32 /* the manifest has a component that the code does not have */
#define UNDECLARED         33 /* uses an interface that its manifest does not list, and crashes without it */
#define LEAKS_IN_REFUSAL   34 /* create leaks a value when it refuses a configuration that the schema allows */
#define REFUSES_IN_INIT    35 /* init refuses, with a code */

TN_PLUGIN("test.defects", "1.0.0", "Has one defect")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

#if DEFECT == NOT_THREAD_SAFE || DEFECT == IGNORES_CANCEL || DEFECT == SLOW || DEFECT == LEAKS_ON_CANCEL ||            \
    defined(BLOCKING)
#define STYLE "blocking"
#else
#define STYLE "async"
#endif
#if DEFECT == UNKNOWN_EFFECT
#define EFFECTS "[\"fs.raed:/tmp\"]"
#elif defined(ONLY_RANDOM) /* not a defect, and hides no other one */
#define EFFECTS "[\"random\"]"
#else
#define EFFECTS "[]"
#endif
#if DEFECT == WRONG_OUTPUT
#define OUTPUT ", \"required\": [\"goto\"]"
#else
#define OUTPUT ""
#endif
#if DEFECT == BAD_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": 7}}"
#elif DEFECT == REFUSED_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": \"refuse me\"}}"
#elif DEFECT == WRONG_OUTPUT
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": \"abc\"}}"
#elif DEFECT == WRONG_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": \"abc\"}, \"output\": {\"writes\": {\"out\": 4}}}"
#elif DEFECT == BAD_SHAPE_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": \"abc\"}, \"output\": {\"write\": {\"out\": 3}}}"
#else
#define EXAMPLE                                                                                                        \
    "{\"title\": \"one\", \"config\": {\"what\": \"abc\", \"more\": {\"kind\": \"b\"}}, "                              \
    "\"output\": {\"writes\": {\"out\": 3}}}"
#endif

TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.defect\", \"title\": \"Has one defect.\","
        " \"documentation\": \"Counts bytes.\", \"output\": {\"type\": \"object\"" OUTPUT "}, \"style\": \"" STYLE
        "\", \"effects\": " EFFECTS ","
        " \"config\": {\"type\": \"object\", \"required\": [\"what\"], \"additionalProperties\": false,"
        "  \"properties\": {\"what\": {\"type\": \"string\", \"description\": \"Counted.\"},"
        "   \"more\": {\"$ref\": \"#/$defs/more\"}},"
        "  \"$defs\": {\"more\": {\"type\": \"object\", \"allOf\": [{\"required\": [\"kind\"]}],"
        "   \"properties\": {\"kind\": {\"enum\": [\"a\", \"b\"]}},"
        "   \"oneOf\": [{\"properties\": {\"n\": {\"type\": \"integer\", \"minimum\": 5}}}]}}},"
        " \"examples\": [" EXAMPLE "]}}")

#if DEFECT == MISSING_COMPONENT
TN_NOTE("{\"component\": {\"kind\": \"tool\", \"id\": \"test.missing\", \"title\": \"Not in the code.\", \"input\": "
        "{\"type\": \"object\"},"
        " \"documentation\": \"Nothing.\", \"style\": \"async\", \"effects\": []}}")
#endif

struct counter {
    char *memory;
    size_t length;
    int cancelled, runs;
};

static void counter_free(struct counter *counter) {
    if (!counter) return;
    tn.core->release(tn.host, counter->memory);
    tn.core->release(tn.host, counter);
}

static int32_t create(tn_value config, tn_binder *binder, void **self) {
    const char *what = tn_get_text(config, "what", NULL), *kind;
#if DEFECT == CRASHES_ON_INVALID
    if (!what) abort();
#endif
    if (!what) return tn_refuse("INVALID", "`what` is missing");
    kind = tn_get_text(tn_get(config, "more"), "kind", "a");
#if DEFECT == CRASHES
    if (strchr(what, ' ')) abort();
#elif DEFECT == REFUSES
    return tn_refuse("INVALID", "no");
#elif DEFECT == REFUSED_EXAMPLE
    if (strcmp(what, "refuse me") == 0) return tn_refuse("INVALID", "no");
#elif DEFECT == LEAKS_IN_REFUSAL
    if (strchr(what, ' ')) {
        (void)tn_text("kept");
        return tn_refuse("INVALID", "found a blank");
    }
#elif DEFECT == LEAKS_IN_INSTANCE
    (void)tn_text("kept");
#elif DEFECT == REQUESTS_DRAFT
    (void)tn.host->get(tn.host->self, TN_STATE_DRAFT);
#elif DEFECT == EXITS
    exit(3);
#endif
    struct counter *counter = tn.core->alloc(tn.host, sizeof *counter);
#if DEFECT != UNCHECKED_ALLOC
    if (!counter) return TN_NO_MEMORY;
#endif
    memset(counter, 0, sizeof *counter);
    counter->length = strlen(what) + (*kind == 'a' ? 0 : 0);
    counter->memory = tn.core->alloc(tn.host, 16);
#if DEFECT == LEAKS_ON_FAILURE
    if (!counter->memory) return TN_NO_MEMORY;
#endif
    if (!counter->memory) {
        counter_free(counter);
        return TN_NO_MEMORY;
    }
    *self = counter;
    return TN_OK;
}

static int32_t finish(tn_task task, int64_t count) {
    tn_builder *output = tn_builder_new();
    tn_value value;
    tn.value->begin(output, TN_OBJECT);
    tn_put_begin(output, DEFECT == WRONG_SHAPE ? "wrote" : "writes", TN_OBJECT);
    tn_put_int(output, "out", count);
    tn.value->end(output);
    tn.value->end(output);
    value = tn_finish(output);
#if DEFECT == ENDS_TWICE
    (void)tn.task->complete(task, value);
#endif
    return tn_done_take(task, value);
}

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Memory that nothing frees. */
static void keep(size_t size) {
    char *volatile memory = malloc(size);
    if (memory) memset(memory, 1, size);
}

static int32_t start(void *self, tn_task task, tn_value input) {
    static int shared;
    struct counter *counter = self;
    (void)input, (void)shared, (void)wait_ms, (void)keep;
    counter->runs++;
#if DEFECT == LEAKS_VALUES
    (void)tn_text("never released");
#elif DEFECT == LEAKS_HEAP
    keep(100);
#elif DEFECT == LEAKS_MEGABYTES
    keep(1 << 20);
#elif DEFECT == FILLS_CACHE
    static int filled;
    if (filled++ < 200) keep(1000);
#elif DEFECT == LEAKS_ON_CANCEL
    tn_value held = tn_text("held while it runs");
    for (int i = 0; i < 5; i++) {
        wait_ms(2);
        if (tn.task->cancelled(task) != 0) return TN_CANCELLED;
    }
    tn_release(held);
#elif DEFECT == IGNORES_CANCEL
    wait_ms(3000);
#elif DEFECT == SLOW
    wait_ms(60);
#elif DEFECT == HANGS
    for (;;) wait_ms(1000);
#elif DEFECT == PRINTS
    puts("running");
#elif DEFECT == IMPURE
    return finish(task, ++shared);
#elif DEFECT == NOT_THREAD_SAFE
    int others = __atomic_add_fetch(&shared, 1, __ATOMIC_SEQ_CST);
    wait_ms(20); /* the other runs start meanwhile, also on a busy machine */
    __atomic_sub_fetch(&shared, 1, __ATOMIC_SEQ_CST);
    return finish(task, others);
#elif DEFECT == DIFFERS
    return finish(task, getenv("TENON_TEST_DIFFERS") ? 1 : 2);
#elif DEFECT == CRASHES_IN_DESTROY
    return TN_OK; /* ends when it is cancelled */
#endif
#ifdef BLOCKING /* not a defect: the worker is still in start when the task has ended */
    int32_t status = finish(task, (int64_t)counter->length);
    wait_ms(2);
    return status;
#else
    return finish(task, (int64_t)counter->length);
#endif
}

static void cancel(void *self, tn_task task) {
    ((struct counter *)self)->cancelled = 1;
    (void)tn_fail(task, "CANCELLED", "it was cancelled");
}

static void destroy(void *self) {
#if DEFECT == LEAKS_MEMORY
    tn.core->release(tn.host, ((struct counter *)self)->memory);
    return;
#elif DEFECT == CRASHES_IN_DESTROY
    if (((struct counter *)self)->cancelled) abort();
#endif
    counter_free(self);
}

#if DEFECT == UNDECLARED
static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    return *(const uint64_t *)tn.host->get(tn.host->self, TN_TOOL_1) ? TN_OK : TN_ERROR;
}
TN_LIFECYCLE(init, NULL, NULL)
#elif DEFECT == REFUSES_IN_INIT
static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    return tn_refuse("NO_KEY", "found no key");
}
TN_LIFECYCLE(init, NULL, NULL)
#elif DEFECT == LEAKS_IN_INIT
static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    (void)tn_text("never released");
    return TN_OK;
}
TN_LIFECYCLE(init, NULL, NULL)
#endif

TN_COMPONENT(defect, "test.defect", create, start, cancel, NULL, destroy)
