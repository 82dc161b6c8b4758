/*
 * good.c - a valid plugin: two nodes, one of them described in two notes, and a configuration.
 *
 * It counts calls of its lifecycle in the environment of the process, so that a test can read them.
 */
#define LIFECYCLE (&lifecycle)
#include "plugin.h"
#include <stdio.h>

static int32_t init(void *self, tn_value config) {
    const tn_value_1 *values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    const char *greeting = values ? values->as_text(values->get(config, "greeting", TN_Z), NULL) : NULL;
    (void)self;
    return setenv("TENON_TEST_GOOD", greeting ? greeting : "initialised", 1) == 0 ? TN_OK : TN_ERROR;
}

static void quiesce(void *self) {
    (void)self;
    (void)setenv("TENON_TEST_GOOD", "quiesced", 1);
}

static void deinit(void *self) {
    (void)self;
    (void)setenv("TENON_TEST_GOOD", "ended", 1);
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, quiesce, deinit};

MANIFEST("test.good", "1.2.3",
         ",\"requires\":[\"tenon.value/1\"],\"optional\":[\"tenon.unheard-of/9\"],\"tenon\":\">=0.1\",\"dynamic\":"
         "[\"tool\"],\"config\":{\"type\":\"object\",\"properties\":{\"greeting\":{\"type\":\"string\",\"default\":"
         "\"hello\"}},\"additionalProperties\":false}")
COMPONENT(one, "test.one")
TN_NOTE("{\"component\":{\"kind\":\"node\",\"id\":\"test.two\",\"title\":\"The other node\",\"style\":\"blocking\","
        "\"config\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}}}")
TN_NOTE("{\"component\":{\"id\":\"test.two\",\"documentation\":\"Told in another note.\",\"reentrant\":true}}")
ENTRY
