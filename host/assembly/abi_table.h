/*
 * abi_table.h - the interfaces that the host offers to plugins: one row for each id. Rows of released interfaces stay
 * forever. It is here, because it names interfaces of several rooms.
 *
 *     registry_new(&(struct registry_options){.interfaces = interface_table, …});
 */
#ifndef TENON_HOST_ASSEMBLY_ABI_TABLE_H
#define TENON_HOST_ASSEMBLY_ABI_TABLE_H

#include "host/plugin/registry/registry.h"

/* The last row has the id NULL. */
extern const struct registry_interface interface_table[];
/* The vtable of an id, also of a draft, or NULL. For components of the host itself. Thread: any. */
const void *interface_find(const char *id);

#endif
