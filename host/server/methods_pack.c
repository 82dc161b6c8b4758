/*
 * methods_pack.c - installed packs: methods/pack.yaml.
 *
 * Packs are files of this machine. pack/install and pack/show read whole packs on the loop, so other work of the host
 * waits for them; their rows say it.
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
#include "host/server/pack_listing.h"
#include "host/server/server.h"
#include <string.h>

#define REGISTRY_PREFIX "oci://"

static struct config *pack_config(const struct method_call *call) { return host_config(server_host(call->server)); }

/* ---- list, show ---- */

static void pack_add_row(void *user, const struct installed_pack *pack) {
    tn_value *rows = user;
    *rows = value_push_take(*rows, pack_listing_row(pack));
}

/* The reason why a key of packs.trust cannot be read, as the member `trust_error`. Its packs count as not trusted. */
static tn_value add_trust_error(const struct method_call *call, tn_value result) {
    struct error why = ERROR_INIT;
    (void)config_trusts(pack_config(call), NULL, &why);
    if (why.code) result = value_set_take(result, "trust_error", value_text(why.message));
    error_finish(&why);
    return result;
}

static int32_t pack_list(const struct method_call *call, struct error *error) {
    tn_value rows = value_array();
    (void)error;
    packs_each(pack_config(call), pack_add_row, &rows);
    return method_done_take(call, add_trust_error(call, value_set_take(value_object_reserve(2), "packs", rows)));
}

struct pack_wanted {
    const struct host *host;
    const char *name, *version; /* version: NULL for the one in use */
    tn_value found;             /* a new reference, or NULL */
};

static void pack_find(void *user, const struct installed_pack *pack) {
    struct pack_wanted *wanted = user;
    bool version = wanted->version ? strcmp(pack->version, wanted->version) == 0 : !pack->version_in_use;
    if (wanted->found || !version || strcmp(pack->name, wanted->name) != 0) return;
    wanted->found = pack_listing_row(pack);
    if (!pack->fault.code)
        wanted->found = value_set_take(wanted->found, "parts", pack_listing_parts(wanted->host, pack, NULL));
}

static int32_t pack_show(const struct method_call *call, struct error *error) {
    struct pack_wanted wanted = {
        .host = server_host(call->server), .name = method_text(call, "name"), .version = method_text(call, "version")};
    packs_each(pack_config(call), pack_find, &wanted);
    if (wanted.found) return method_done_take(call, wanted.found);
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the pack `%s`%s%s is not installed; pack/list lists them",
                     wanted.name, wanted.version ? " " : "", wanted.version ? wanted.version : "");
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

static int32_t pack_install_open(const struct method_call *call, struct pack *pack, struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    char key[CONFIG_PUBLIC_KEY_TEXT];
    bool is_signed;
    enum pack_installed outcome;
    int32_t status = server_sign_check(call->server)(pack, &is_signed, key, error);
    if (status == TN_OK) status = packs_install(pack, is_signed ? key : NULL, NULL, &outcome, error);
    if (status != TN_OK) return status;
    struct pack_use use = {.manifest = manifest};
    packs_each(pack_config(call), pack_find_use, &use);
    tn_value result = value_set_take(value_object_reserve(7), "name", value_text(manifest->name));
    result = value_set_take(result, "version", value_text(manifest->version));
    result = value_set_take(result, "installed", value_bool(outcome == PACK_NEW));
    result = value_set_take(result, "key", is_signed ? value_text(key) : value_null());
    result = value_set_take(result, "trusted", value_bool(is_signed && config_trusts(pack_config(call), key, NULL)));
    if (use.instead) result = value_set_take(result, "version_in_use", use.instead);
    return method_done_take(call, add_trust_error(call, result));
}

static int32_t pack_install(const struct method_call *call, struct error *error) {
    const char *file = method_text(call, "file");
    struct pack *pack = NULL;
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
    if (status == TN_OK) status = pack_open(path, &pack, error);
    if (status == TN_OK) status = pack_install_open(call, pack, error);
    pack_close(pack);
    mem_free(path);
    return status;
}

static int32_t pack_remove(const struct method_call *call, struct error *error) {
    uint32_t count;
    int32_t status = packs_remove(method_text(call, "name"), method_text(call, "version"), &count, error);
    if (status != TN_OK) return status;
    return method_done_take(call, value_set_take(value_object_reserve(1), "removed", value_int(count)));
}

const struct method_handler pack_methods[] = {
    {"pack/list", pack_list},
    {"pack/show", pack_show},
    {"pack/install", pack_install},
    {"pack/remove", pack_remove},
    {NULL, NULL},
};
