/*
 * methods_model.c - models: methods/model.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler model_methods[] = {
    {NULL, NULL},
};
