/*
 * methods_task.c - Tasks of the state kernel: methods/task.yaml. method_kernel.c calls the operations.
 */
#include "host/server/method_internal.h"

const struct method_handler task_methods[] = {
    {"task/create", method_kernel_start},   {"task/get", method_kernel_start},   {"task/update", method_kernel_start},
    {"task/list", method_kernel_start},     {"task/claim", method_kernel_start}, {"task/renew", method_kernel_start},
    {"task/complete", method_kernel_start}, {"task/fail", method_kernel_start},  {NULL, NULL},
};
