/*
 * versioned.c - one plugin in several builds, selected by VERSION. The third one fails to initialise.
 */
#include <tenon/easy.h>

#if VERSION == 1
TN_PLUGIN("test.versioned", "1.0.0", "The first of several builds")
#elif VERSION == 2
TN_PLUGIN("test.versioned", "2.0.0", "The second of several builds")
#else
TN_PLUGIN("test.versioned", "3.0.0", "The third of several builds")
static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    return TN_ERROR;
}
TN_LIFECYCLE(init, NULL, NULL)
#endif

TN_NODE(version, "test.version", "Writes which build it is.", TN_PURE, (WRITE, out, "a list's channel")) {
    (void)input;
    return tn_done_written(task, tn_write_int(task, config->out, VERSION));
}
