/*
 * defects.c - a plugin with one defect, which DEFECT names, for tests/e2e/exercise.sh: each stands for a finding of
 * `tenon plugin check`, and without one there is nothing to find. 0 has none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>
#include <time.h>

#define NONE            0
#define DIES            1  /* of a configuration that its schema allows */
#define KEEPS_VALUES    2  /* each run leaves one */
#define KEEPS_MEMORY    3  /* each instance leaves some */
#define UNCHECKED       4  /* does not look whether there was memory */
#define KEEPS_ON_FAIL   5  /* leaves memory where a later allocation fails */
#define DEAF            6  /* works on when it is cancelled */
#define HANGS           7  /* for ever */
#define PRINTS          8  /* while it runs */
#define IMPURE          9  /* counts its runs */
#define NOT_THREAD_SAFE 10 /* shares what each run needs for itself */
#define DIFFERS         11 /* leans on the host's environment */
#define REFUSES         12 /* whatever its schema allows */
#define BAD_EXAMPLE     13 /* an example that its schema does not allow */
#define REFUSED_EXAMPLE 14 /* an example that create does not take */
#define WRONG_EXAMPLE   15 /* an example with another output */
#define ENDS_TWICE      16
#define DIES_OF_MUTANT  17 /* of a configuration that its schema does not allow */
#define EXITS           18
#define KEEPS_INSTANCE  19 /* each instance leaves a value */
#define DIES_LATER      20 /* in destroy, after it was cancelled */
#define MISSPELT        21 /* an effect that nobody knows */

TN_PLUGIN("test.defects", "1.0.0", "Has one defect")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

#if DEFECT == NOT_THREAD_SAFE || DEFECT == DEAF
#define STYLE "blocking"
#else
#define STYLE "async"
#endif
#if DEFECT == MISSPELT
#define EFFECTS "[\"fs.raed:/tmp\"]"
#elif defined(ONLY_RANDOM) /* which is no defect, and hides none */
#define EFFECTS "[\"random\"]"
#else
#define EFFECTS "[]"
#endif
#if DEFECT == BAD_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": 7}}"
#elif DEFECT == REFUSED_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": \"refuse me\"}}"
#elif DEFECT == WRONG_EXAMPLE
#define EXAMPLE "{\"title\": \"one\", \"config\": {\"what\": \"abc\"}, \"output\": {\"writes\": {\"out\": 4}}}"
#else
#define EXAMPLE                                                                                                        \
    "{\"title\": \"one\", \"config\": {\"what\": \"abc\", \"more\": {\"kind\": \"b\"}}, "                              \
    "\"output\": {\"writes\": {\"out\": 3}}}"
#endif

TN_NOTE("{\"component\": {\"kind\": \"node\", \"id\": \"test.defect\", \"title\": \"Has one defect.\","
        " \"documentation\": \"Counts bytes.\", \"style\": \"" STYLE "\", \"effects\": " EFFECTS ","
        " \"config\": {\"type\": \"object\", \"required\": [\"what\"], \"additionalProperties\": false,"
        "  \"properties\": {\"what\": {\"type\": \"string\", \"description\": \"Counted.\"},"
        "   \"more\": {\"$ref\": \"#/$defs/more\"}},"
        "  \"$defs\": {\"more\": {\"type\": \"object\", \"allOf\": [{\"required\": [\"kind\"]}],"
        "   \"properties\": {\"kind\": {\"enum\": [\"a\", \"b\"]}},"
        "   \"oneOf\": [{\"properties\": {\"n\": {\"type\": \"integer\", \"minimum\": 5}}}]}}},"
        " \"examples\": [" EXAMPLE "]}}")

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
#if DEFECT == DIES_OF_MUTANT
    if (!what) abort();
#endif
    if (!what) return tn.task->refuse(binder, "INVALID", "`what` is missing");
    kind = tn_get_text(tn.value->get(config, "more"), "kind", "a");
#if DEFECT == DIES
    if (strchr(what, ' ')) abort();
#elif DEFECT == REFUSES
    return tn.task->refuse(binder, "INVALID", "no");
#elif DEFECT == REFUSED_EXAMPLE
    if (strcmp(what, "refuse me") == 0) return tn.task->refuse(binder, "INVALID", "no");
#elif DEFECT == KEEPS_INSTANCE
    (void)tn_text("kept");
#elif DEFECT == EXITS
    exit(3);
#endif
    struct counter *counter = tn.core->alloc(tn.host, sizeof *counter);
#if DEFECT != UNCHECKED
    if (!counter) return TN_NO_MEMORY;
#endif
    memset(counter, 0, sizeof *counter);
    counter->length = strlen(what) + (*kind == 'a' ? 0 : 0);
    counter->memory = tn.core->alloc(tn.host, 16);
#if DEFECT == KEEPS_ON_FAIL
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
    tn_builder *output = tn.value->builder();
    tn_value value;
    tn.value->begin(output, TN_OBJECT);
    tn_put_begin(output, "writes", TN_OBJECT);
    tn_put_int(output, "out", count);
    tn.value->end(output);
    tn.value->end(output);
    value = tn.value->finish(output);
#if DEFECT == ENDS_TWICE
    (void)tn.task->complete(task, value);
#endif
    return tn_done_take(task, value);
}

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static int32_t start(void *self, tn_task task, tn_value input) {
    static int shared;
    struct counter *counter = self;
    (void)input, (void)shared, (void)wait_ms;
    counter->runs++;
#if DEFECT == KEEPS_VALUES
    (void)tn_text("never released");
#elif DEFECT == DEAF
    wait_ms(3000);
#elif DEFECT == HANGS
    for (;;) wait_ms(1000);
#elif DEFECT == PRINTS
    puts("running");
#elif DEFECT == IMPURE
    return finish(task, ++shared);
#elif DEFECT == NOT_THREAD_SAFE
    int others = __atomic_add_fetch(&shared, 1, __ATOMIC_SEQ_CST);
    wait_ms(2);
    __atomic_sub_fetch(&shared, 1, __ATOMIC_SEQ_CST);
    return finish(task, others);
#elif DEFECT == DIFFERS
    return finish(task, getenv("TENON_TEST_DIFFERS") ? 1 : 2);
#elif DEFECT == DIES_LATER
    return TN_OK; /* ends when it is cancelled */
#endif
    return finish(task, (int64_t)counter->length);
}

static void cancel(void *self, tn_task task) {
    ((struct counter *)self)->cancelled = 1;
    (void)tn.task->fail(task, "CANCELLED", "it was cancelled", NULL);
}

static void destroy(void *self) {
#if DEFECT == KEEPS_MEMORY
    tn.core->release(tn.host, ((struct counter *)self)->memory);
    return;
#elif DEFECT == DIES_LATER
    if (((struct counter *)self)->cancelled) abort();
#endif
    counter_free(self);
}

TN_COMPONENT(defect, "test.defect", create, start, cancel, NULL, destroy)
