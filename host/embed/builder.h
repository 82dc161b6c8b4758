/*
 * builder.h - a graph that is being built: the parts of its document. Only files named builder include this.
 */
#ifndef TENON_HOST_EMBED_BUILDER_H
#define TENON_HOST_EMBED_BUILDER_H

#include "host/embed/embed_internal.h"

struct tenon_builder {
    tenon *host;
    tn_value name;
    tn_value sections;               /* an object: the sections of the document without the three lists */
    tn_value channels, nodes, edges; /* arrays, in the form of the language */
};

/* Sets the error INVALID_INPUT of the host, and returns TN_INVALID. */
int32_t builder_fail(tenon_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The caller's text as a value, or NULL with the error set. */
tn_value builder_text(tenon_builder *builder, const char *what, const char *text);
bool builder_has_node(const tenon_builder *builder, const char *id);
int32_t builder_add_node(tenon_builder *builder, const char *id, const char *type, tn_value config);
/* After a compilation failed: adds to the message which node, channel, edge or section it is about. builder_place.c */
void builder_explain(tenon_builder *builder, const char *name, const char *text, tn_value document);

#endif
