/*
 * methods_artifact.c - Artifacts of the state kernel: methods/artifact.yaml. method_kernel.c calls the operations.
 */
#include "host/server/method_internal.h"

const struct method_handler artifact_methods[] = {
    {"artifact/write", method_kernel_start},   {"artifact/read", method_kernel_start},
    {"artifact/search", method_kernel_start},  {"artifact/open", method_kernel_start},
    {"artifact/append", method_kernel_start},  {"artifact/finish", method_kernel_start},
    {"artifact/abandon", method_kernel_start}, {NULL, NULL},
};
