/*
 * methods_artifact.c - artifacts of the state kernel: methods/artifact.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler artifact_methods[] = {
    {NULL, NULL},
};
