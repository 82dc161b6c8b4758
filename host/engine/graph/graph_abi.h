/*
 * graph_abi.h - tenon.document: the interface through which plugins check and run documents.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_GRAPH_ABI_H
#define TENON_HOST_ENGINE_GRAPH_GRAPH_ABI_H

#include <tenon/document.h>

/* Its receiver is a struct engine (registry_owner). */
extern const tn_document_draft interface_document;

#endif
