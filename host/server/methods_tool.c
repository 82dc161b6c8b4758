/*
 * methods_tool.c - tools: methods/tool.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler tool_methods[] = {
    {NULL, NULL},
};
