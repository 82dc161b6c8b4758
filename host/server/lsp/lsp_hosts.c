/*
 * lsp_hosts.c - the host of a connection, and the copy of its catalog, which is made again after a change of components.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/registry/registry.h"
#include "host/server/lsp/lsp_catalog.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_world.h"

struct lsp_hosts {
    struct host *host;
    struct catalog_copy *copy; /* or NULL */
    size_t checks;             /* that run: they use the host */
};

struct lsp_hosts *lsp_hosts_new(struct host *host) {
    struct lsp_hosts *hosts = mem_zalloc(sizeof *hosts);
    hosts->host = host;
    return hosts;
}

void lsp_hosts_begin_check(struct lsp_hosts *hosts) { hosts->checks++; }
void lsp_hosts_end_check(struct lsp_hosts *hosts) { hosts->checks--; }

static bool hosts_have_no_check(void *user) { return ((const struct lsp_hosts *)user)->checks == 0; }

void lsp_hosts_free(struct lsp_hosts *hosts) {
    if (!hosts) return;
    (void)loop_run(host_loop(hosts->host), hosts_have_no_check, hosts);
    catalog_copy_unref(hosts->copy);
    mem_free(hosts);
}

struct host *lsp_hosts_host(const struct lsp_hosts *hosts) { return hosts->host; }

static struct catalog_copy *hosts_catalog(struct lsp_hosts *hosts) {
    uint64_t generation = registry_generation(host_registry(hosts->host));
    if (hosts->copy && catalog_copy_generation(hosts->copy) == generation) return hosts->copy;
    catalog_copy_unref(hosts->copy);
    hosts->copy = catalog_copy_new(host_catalog(hosts->host), generation);
    return hosts->copy;
}

struct lsp_world *lsp_hosts_world(struct lsp_hosts *hosts, const struct lsp *lsp) {
    tn_value open = value_object();
    for (const struct lsp_text *text = lsp->texts; text; text = text->next)
        if (text->path)
            open = value_set_take(open, text->path,
                                  value_string_lossy(source_text(text->source), source_length(text->source)));
    struct lsp_world *world = lsp_world_new(hosts->host, hosts_catalog(hosts), open);
    value_unref(open);
    return world;
}
