/*
 * kernel_abi.h - the interface tenon.state: kernel.h for plugins.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_ABI_H
#define TENON_HOST_DATA_KERNEL_KERNEL_ABI_H

#include <tenon/state.h>

/* Its owner (registry_owner) is a struct kernel_source. */
extern const tn_state_draft interface_state;

#endif
