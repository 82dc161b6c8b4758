/*
 * methods_memory.c - memories of the state kernel: methods/memory.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler memory_methods[] = {
    {NULL, NULL},
};
