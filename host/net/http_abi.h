/*
 * http_abi.h - tenon.http for plugins, on top of http.h.
 */
#ifndef TENON_HOST_NET_HTTP_ABI_H
#define TENON_HOST_NET_HTTP_ABI_H

#include <tenon/http.h>

struct callable;
struct plugin;

/* Its owner (registry_owner) is a struct http. */
extern const tn_http_1 interface_http;
void interface_http_ended(struct plugin *plugin); /* [loop] cancels all exchanges of the plugin */
/* [loop] A callable that sends one request of the plugin. Its output is the value of END. Use it for one call. */
struct callable *interface_http_call(struct plugin *plugin);

#endif
