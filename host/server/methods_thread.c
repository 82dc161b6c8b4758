/*
 * methods_thread.c - saved threads: methods/thread.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler thread_methods[] = {
    {NULL, NULL},
};
