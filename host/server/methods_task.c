/*
 * methods_task.c - tasks of the state kernel: methods/task.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler task_methods[] = {
    {NULL, NULL},
};
