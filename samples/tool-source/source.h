/*
 * source.h - tools that a service offers, and that change while the host runs. Shared by the files of this plugin.
 *
 *   source.c   the service: its section of tenon.yaml, the stream of events, connecting again
 *   tools.c    the list of tools: adding them to the host's registry, and removing them
 *   call.c     one call of a tool
 *
 * Everything runs on the loop. Invariant: the host's registry has exactly the tools of the list that are not removed. A
 * removed tool stays in memory as long as the host has instances of it, because those continue to work.
 */
#ifndef ACME_SOURCE_H
#define ACME_SOURCE_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/http.h>
#include <tenon/registry.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>

struct tool {
    struct tool *next;
    tn_value component; /* as in the registry: its part of a manifest */
    tn_value name;      /* the service's name for it */
    uint64_t instances;
    bool is_announced; /* on the present stream */
    bool is_removed;
};

/* The host's interfaces and the plugin's section, for as long as the plugin is loaded. */
struct source {
    const tn_http_1 *http;
    const tn_registry_1 *registry;
    const char *url;  /* NULL: no service is configured */
    const char *name; /* the prefix of ids */
    tn_value config;
};
extern struct source source;

/* A request to the service: the value for tenon.http. `path` is appended to the address. A new reference, or NULL. */
tn_value source_request(const char *path, const char *receive, tn_value body, tn_value idempotency_key);

/* The service has announced a tool {name, description, input, effects?}, or that it is gone. */
void tools_add(tn_value description);
void tools_remove(tn_value name);
/* A new stream has begun: the service announces all of its tools again. Those that it did not announce until the end of
 * the list are removed. */
void tools_begin(void);
void tools_end_list(void);
/* The tool of this id, with one more instance; NULL if it was removed. tool_release has one less. */
struct tool *tool_retain_by_id(const char *id, uint64_t length);
void tool_release(struct tool *tool);
/* Removes and frees all tools. There are no instances any more. */
void tools_free(void);

#endif
