/*
 * methods_pack.c - packs: methods/pack.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler pack_methods[] = {
    {NULL, NULL},
};
