/*
 * methods_memory.c - memories of the state kernel: methods/memory.yaml. method_kernel.c calls the operations.
 */
#include "host/server/method_internal.h"

const struct method_handler memory_methods[] = {
    {"memory/put", method_kernel_start},        {"memory/get", method_kernel_start},
    {"memory/delete", method_kernel_start},     {"memory/search", method_kernel_start},
    {"memory/namespaces", method_kernel_start}, {NULL, NULL},
};
