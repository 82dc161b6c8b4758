/*
 * methods_document.c - checking, drawing and formatting of documents: methods/document.yaml.
 */
#include "host/server/method_internal.h"

const struct method_handler document_methods[] = {
    {NULL, NULL},
};
