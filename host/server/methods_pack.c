/*
 * methods_pack.c - installed packs: methods/pack.yaml.
 *
 * Packs are files of this machine. Methods that read or remove whole packs are jobs (method_job.h). pack/list reads
 * only the manifests.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/plugin/pack/pack.h"
#include "host/plugin/pack/pack_install.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/pack/pack_sign.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/method_job.h"
#include "host/server/pack_listing.h"
#include "host/server/server.h"
#include <string.h>

#define REGISTRY_PREFIX "oci://"

/* The reason why a key of packs.trust cannot be read, as the member `trust_error`. Its packs count as not trusted. */
static tn_value add_trust_error(const struct config *config, tn_value result) {
    struct error why = ERROR_INIT;
    (void)config_trusts(config, NULL, &why);
    if (why.code) result = value_set_take(result, "trust_error", value_text(why.message));
    error_finish(&why);
    return result;
}

/* ---- list ---- */

static void pack_add_row(void *user, const struct installed_pack *pack) {
    tn_value *rows = user;
    *rows = value_push_take(*rows, pack_listing_row(pack));
}

static int32_t pack_list(const struct method_call *call, struct error *error) {
    const struct config *config = host_config(server_host(call->server));
    tn_value rows = value_array();
    (void)error;
    packs_each(config, pack_add_row, &rows);
    return method_done_take(call, add_trust_error(config, value_set_take(value_object_reserve(2), "packs", rows)));
}

/* ---- Jobs ---- */

struct pack_job {
    struct method_job job; /* first */
    const struct host *host;
    const struct config *config;
    char *name, *version; /* of pack/show and pack/remove; version: NULL for the one in use, or all */
    char *path;           /* of pack/install: the file */
    sign_check_fn *sign_check;
    char *folder; /* of pack/show: where the version in use is, whose parts the host can use; or NULL */
};

static void pack_job_free(struct method_job *job) {
    struct pack_job *own = (struct pack_job *)job;
    mem_free(own->name);
    mem_free(own->version);
    mem_free(own->path);
    mem_free(own->folder);
    mem_free(own);
}

static struct pack_job *pack_job_new(const struct method_call *call, void (*run)(struct method_job *job)) {
    const char *name = method_text(call, "name"), *version = method_text(call, "version");
    struct pack_job *own = mem_zalloc(sizeof *own);
    own->job.run = run;
    own->job.free = pack_job_free;
    own->host = server_host(call->server);
    own->config = host_config(server_host(call->server));
    own->name = name ? mem_text(name) : NULL;
    own->version = version ? mem_text(version) : NULL;
    return own;
}

/* ---- show ---- */

static void pack_find(void *user, const struct installed_pack *pack) {
    struct pack_job *own = user;
    bool version = own->version ? strcmp(pack->version, own->version) == 0 : !pack->version_in_use;
    if (own->job.result || !version || strcmp(pack->name, own->name) != 0) return;
    own->job.result = pack_listing_row(pack);
    if (pack->fault.code) return;
    own->job.result = value_set_take(own->job.result, "parts", pack_listing_verify(pack));
    if (!pack->version_in_use) own->folder = mem_text(pack->folder);
}

static void pack_show_run(struct method_job *job) {
    struct pack_job *own = (struct pack_job *)job;
    packs_each(own->config, pack_find, own);
    if (job->result) return;
    job->status =
        error_set(&job->error, TN_NOT_FOUND, "NOT_FOUND", "the pack `%s`%s%s is not installed; pack/list lists them",
                  own->name, own->version ? " " : "", own->version ? own->version : "");
}

static void pack_show_done(struct method_job *job) {
    const struct pack_job *own = (const struct pack_job *)job;
    if (!own->folder) return;
    tn_value parts = pack_listing_check(own->host, own->folder, value_get(job->result, "parts"));
    job->result = value_set_take(job->result, "parts", parts);
}

static int32_t pack_show(const struct method_call *call, struct error *error) {
    struct pack_job *own = pack_job_new(call, pack_show_run);
    own->job.done = pack_show_done;
    return method_job_start(&own->job, call, error);
}

/* ---- install, remove ---- */

struct pack_use {
    const struct pack_manifest *manifest;
    tn_value instead; /* the version that is in use, if it is another one; or NULL */
};

static void pack_find_use(void *user, const struct installed_pack *pack) {
    struct pack_use *use = user;
    if (pack->version_in_use && strcmp(pack->name, use->manifest->name) == 0 &&
        strcmp(pack->version, use->manifest->version) == 0)
        use->instead = value_text(pack->version_in_use);
}

/* `key` is NULL if the pack is not signed. */
static tn_value pack_installed_result(const struct config *config, const struct pack_manifest *manifest,
                                      enum pack_installed outcome, const char *key) {
    struct pack_use use = {.manifest = manifest};
    packs_each(config, pack_find_use, &use);
    tn_value result = value_set_take(value_object_reserve(7), "name", value_text(manifest->name));
    result = value_set_take(result, "version", value_text(manifest->version));
    result = value_set_take(result, "installed", value_bool(outcome == PACK_NEW));
    result = value_set_take(result, "key", key ? value_text(key) : value_null());
    result = value_set_take(result, "trusted", value_bool(key && config_trusts(config, key, NULL)));
    if (use.instead) result = value_set_take(result, "version_in_use", use.instead);
    return add_trust_error(config, result);
}

static void pack_install_run(struct method_job *job) {
    const struct pack_job *own = (const struct pack_job *)job;
    char key[CONFIG_PUBLIC_KEY_TEXT];
    struct pack *pack = NULL;
    bool is_signed = false;
    enum pack_installed outcome;
    job->status = pack_open(own->path, &pack, &job->error);
    if (job->status == TN_OK) job->status = own->sign_check(pack, &is_signed, key, &job->error);
    if (job->status == TN_OK) job->status = packs_install(pack, is_signed ? key : NULL, NULL, &outcome, &job->error);
    if (job->status == TN_OK)
        job->result = pack_installed_result(own->config, pack_manifest(pack), outcome, is_signed ? key : NULL);
    pack_close(pack);
}

static int32_t pack_install(const struct method_call *call, struct error *error) {
    const char *file = method_text(call, "file");
    char *path = NULL;
    if (strncmp(file, REGISTRY_PREFIX, strlen(REGISTRY_PREFIX)) == 0)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`file`: found the reference of a registry (%.200s), expected a file of this machine; "
                         "`tenon pack install` installs from registries",
                         file);
    if (!server_sign_check(call->server))
        return error_set(
            error, TN_UNSUPPORTED, "UNSUPPORTED",
            "this program cannot check the signatures of packs; install the pack with `tenon pack install`");
    int32_t status = method_locate(call, "file", file, &path, error);
    if (status != TN_OK) return status;
    struct pack_job *own = pack_job_new(call, pack_install_run);
    own->path = path;
    own->sign_check = server_sign_check(call->server);
    return method_job_start(&own->job, call, error);
}

/* It waits while another process installs a pack. */
static void pack_remove_run(struct method_job *job) {
    const struct pack_job *own = (const struct pack_job *)job;
    uint32_t count;
    job->status = packs_remove(own->name, own->version, &count, &job->error);
    if (job->status == TN_OK) job->result = value_set_take(value_object_reserve(1), "removed", value_int(count));
}

static int32_t pack_remove(const struct method_call *call, struct error *error) {
    return method_job_start(&pack_job_new(call, pack_remove_run)->job, call, error);
}

const struct method_handler pack_methods[] = {
    {"pack/list", pack_list},
    {"pack/show", pack_show},
    {"pack/install", pack_install},
    {"pack/remove", pack_remove},
    {NULL, NULL},
};
