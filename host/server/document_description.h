/*
 * document_description.h - what a client must know to run a document: document/describe.
 *
 *     tn_value shown = document_description(document);      // {name, description?, input?, output?, channels, roles}
 *     value_unref(shown);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_SERVER_DOCUMENT_DESCRIPTION_H
#define TENON_HOST_SERVER_DOCUMENT_DESCRIPTION_H

#include "adl/value/value.h"

struct document;

/* A new reference. `document` has no errors. Bindings of models are shortened, so they contain no secrets. */
tn_value document_description(const struct document *document);

#endif
