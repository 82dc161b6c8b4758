/*
 * extract_internal.h - an extraction of nodes in progress; private to extract.c and extract_write.c.
 */
#ifndef TENON_ADL_ASSIST_EXTRACT_INTERNAL_H
#define TENON_ADL_ASSIST_EXTRACT_INTERNAL_H

#include "adl/assist/action_internal.h"
#include "adl/document/document.h"

enum extract_edge {
    EXTRACT_OUTSIDE, /* stays as it is */
    EXTRACT_ENTERS,  /* stays; the new node replaces the entry */
    EXTRACT_INSIDE,  /* moves */
    EXTRACT_LEAVES,  /* one part moves, with END as its target, and one stays */
};

struct extraction {
    const struct assist_names *names;
    const struct document *document;
    struct source *source;
    const struct tree_node *nodes, *edges, *channels; /* lists of the tree; the last may be NULL */
    bool *inside;                                     /* [node] */
    uint32_t first;                                   /* the first selected node */
    int32_t entry;                                    /* the node at which the selection is entered */
    enum extract_edge *roles;                         /* [edge] */
    uint32_t leaving, first_leaving;                  /* the number of leaving edges, and the first of them */
    bool whole_exit; /* the only leaving edge has no target inside: it stays with the new node as its start */
    int32_t exit;    /* else: the node, or END, to which all leaving edges lead */
    uint32_t *uses;  /* [channel] mask of USE_READS, USE_WRITES, and EXTRACT_USED for any use inside */
    struct assist_edits *edits;
};
#define EXTRACT_USED (1u << 31)

/* How the new document has a channel. */
enum extract_port {
    EXTRACT_PORT_NONE,
    EXTRACT_PORT_COPY,    /* with the same declaration */
    EXTRACT_PORT_EMPTY,   /* the same without its default */
    EXTRACT_PORT_VALUE,   /* as last_value, because it is only read */
    EXTRACT_PORT_REFUSED, /* a value would be merged twice */
};
struct extract_channel {
    enum extract_port port;
    bool in, out; /* its value is passed in, and out */
};
struct extract_channel extract_channel(const struct extraction *extraction, uint32_t channel);

/* Adds the edits and the new document. */
void extract_write(struct extraction *extraction);

#endif
