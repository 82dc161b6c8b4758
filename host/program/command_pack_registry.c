/*
 * command_pack_registry.c - `tenon pack push` and `tenon pack pull`: packs in an OCI registry.
 *
 * A pack is an artifact with one layer, the file that `tenon pack build` makes. A registry is trusted with nothing:
 * what it sends must have the digests of its manifest, and then passes the checks of every pack. With a reference that
 * is pinned by a digest, it must be exactly this manifest.
 */
#include "host/program/command_pack_registry.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/net/oci/oci_transfer.h"
#include "host/plugin/pack/pack.h"
#include "host/plugin/pack/pack_incoming.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/pack/pack_platform.h"
#include "host/plugin/pack/pack_sign.h"
#include "host/program/command_pack.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLATFORMS "vnd.tenon.pack.platforms" /* the annotation with pack_read_platforms' text */
/* Bytes of a pack: its files, and a header, padding and a line of pack.json for each. */
#define PACK_BYTES_MAX ((int64_t)(PACK_SIZE_MAX + PACK_MANIFEST_MAX + (PACK_FILES_MAX + 8) * 1024))

static const struct oci_kind pack_kind = {"a pack", "application/vnd.tenon.pack.v1",
                                          "application/vnd.tenon.pack.v1.tar"};

/* ---- The registry ---- */

/* One repository of a registry, and the host whose HTTP service is used. */
struct pack_registry {
    struct host *host;
    struct oci_client *client;
    struct oci_reference reference;
};

static int registry_fail(struct error *error) {
    int code = COMMAND_RUN_FAILED;
    if (strcmp(error->code, "CANCELLED") == 0) code = COMMAND_CANCELLED;
    if (strcmp(error->code, "INVALID_INPUT") == 0) code = COMMAND_USAGE;
    if (strncmp(error->code, "PACK_", 5) == 0) code = COMMAND_PLUGIN_PROBLEM;
    code = command_report_error(code, error);
    error_finish(error);
    return code;
}

static void registry_close(struct pack_registry *registry) {
    oci_client_free(registry->client);
    host_free(registry->host);
}

/* Returns the exit code; a failure has been reported. */
static int registry_open(const struct arguments *arguments, const char *text, bool push,
                         struct pack_registry *registry) {
    struct error error = ERROR_INIT;
    *registry = (struct pack_registry){.host = NULL};
    if (oci_reference_read(text, &registry->reference, &error) != TN_OK) return registry_fail(&error);
    if (push && *registry->reference.digest)
        return command_report(COMMAND_USAGE, "%s: a pack is pushed to a tag, not to a digest", text);
    if (!push && !*registry->reference.digest && !*registry->reference.tag)
        return command_report(COMMAND_USAGE,
                              "%s: name a tag or a digest, as in %s:1.0.0; the tag of a pack is usually its version",
                              text, text);
    registry->host = command_host(arguments);
    if (!registry->host) return COMMAND_PLUGIN_PROBLEM;
    command_watch_signals(registry->host);
    const struct oci_client_options options = {.loop = host_loop(registry->host),
                                               .http = host_http(registry->host),
                                               .secrets = host_secrets(registry->host),
                                               .config = host_config(registry->host),
                                               .plain_http = argument_given(arguments, "plain-http"),
                                               .push = push,
                                               .stopped = command_got_signal};
    registry->client = oci_client_new(&options, &registry->reference, &error);
    if (registry->client) return COMMAND_OK;
    registry_close(registry);
    return registry_fail(&error);
}

/* The reference with the digest; free it with mem_free. */
static char *registry_pinned(const struct pack_registry *registry, const char *digest) {
    struct oci_reference pinned = registry->reference;
    struct buffer text;
    memcpy(pinned.digest, digest, sizeof pinned.digest);
    buffer_init(&text, SIZE_MAX);
    oci_reference_write(&text, &pinned);
    return buffer_detach(&text, NULL);
}

/* ---- pull ---- */

static int32_t check_platform(const struct pack_registry *registry, const struct oci_artifact *artifact,
                              struct error *error) {
    const char *platforms = oci_annotation(artifact->annotations, PLATFORMS);
    if (!platforms || pack_platforms_fit(platforms)) return TN_OK;
    return error_set(error, TN_INVALID, "PACK_REFUSED",
                     "%s: the plugins of this pack are for %.100s, and this host is %s; nothing was downloaded",
                     oci_client_where(registry->client), platforms, pack_host_platform());
}

/* Downloads a pack to a file, and opens it. */
static int32_t registry_pull(const struct pack_registry *registry, int file, struct pack **pack, char **pinned,
                             struct error *error) {
    struct oci_artifact artifact;
    char digest[OCI_DIGEST_MAX + 1];
    int32_t status =
        oci_pull_manifest(registry->client, &pack_kind, &registry->reference, PACK_BYTES_MAX, &artifact, digest, error);
    if (status != TN_OK) return status;
    status = check_platform(registry, &artifact, error);
    if (status == TN_OK) status = oci_pull_layer(registry->client, &artifact, file, error);
    oci_artifact_finish(&artifact);
    if (status != TN_OK) return status;
    char *name = registry_pinned(registry, digest);
    int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    FILE *stream = copy >= 0 && lseek(copy, 0, SEEK_SET) == 0 ? fdopen(copy, "rb") : NULL;
    if (!stream) {
        if (copy >= 0) close(copy);
        status = error_set(error, TN_ERROR, "IO", "%s: the downloaded file cannot be read: %s", name, strerror(errno));
    } else {
        status = pack_open_file_take(name, stream, pack, error);
    }
    if (status == TN_OK)
        *pinned = name;
    else
        mem_free(name);
    return status;
}

int pack_download(const struct arguments *arguments, const char *reference, struct pack **pack, char **pinned) {
    struct error error = ERROR_INIT;
    struct pack_registry registry;
    struct pack_incoming incoming = {.file = -1};
    int code = registry_open(arguments, reference, false, &registry);
    if (code != COMMAND_OK) return code;
    char *folder = config_packs_folder();
    int32_t status = folder ? pack_incoming_open(folder, false, &incoming, &error)
                            : error_set(&error, TN_NOT_FOUND, "NOT_FOUND", "neither XDG_DATA_HOME nor HOME is set");
    if (status == TN_OK) status = registry_pull(&registry, incoming.file, pack, pinned, &error);
    pack_incoming_close(&incoming); /* the pack has its own descriptor */
    mem_free(folder);
    registry_close(&registry);
    return status == TN_OK ? COMMAND_OK : registry_fail(&error);
}

/* Checks a downloaded pack as a whole, and saves it. */
static int32_t pull_save(const struct arguments *arguments, struct pack_incoming *incoming, struct pack *pack,
                         struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    const char *output = argument_text(arguments, "output");
    char key[CONFIG_PUBLIC_KEY_TEXT];
    bool is_signed;
    int32_t status = sign_check(pack, &is_signed, key, error);
    if (status == TN_OK) status = pack_read_files(pack, NULL, error);
    if (status != TN_OK) return status;
    tn_value path = output ? value_string_lossy(output, strlen(output))
                           : value_format("%s-%s" PACK_SUFFIX, manifest->name, manifest->version);
    status = pack_incoming_publish(incoming, output ? output : value_chars(path, NULL),
                                   argument_given(arguments, "force"), error);
    if (status == TN_OK)
        command_printf(stderr, "%s: %s %s, %s%s\n", value_chars(path, NULL), manifest->name, manifest->version,
                       is_signed ? "signed by " : "not signed", is_signed ? key : "");
    value_unref(path);
    return status;
}

/* The folder of a path, as a new text. */
static char *folder_of(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!slash) return mem_text(".");
    return slash == path ? mem_text("/") : mem_text_n(path, (size_t)(slash - path));
}

int command_pack_pull(const struct arguments *arguments) {
    const char *output = argument_text(arguments, "output");
    struct error error = ERROR_INIT;
    struct pack_registry registry;
    struct pack_incoming incoming = {.file = -1};
    struct pack *pack = NULL;
    char *pinned = NULL;
    if (output && !argument_given(arguments, "force") && access(output, F_OK) == 0)
        return command_report(COMMAND_USAGE, "%s already exists; choose another name, or use --force", output);
    int code = registry_open(arguments, operand_at(arguments, 0), false, &registry);
    if (code != COMMAND_OK) return code;
    char *folder = folder_of(output);
    int32_t status = pack_incoming_open(folder, true, &incoming, &error);
    if (status == TN_OK) status = registry_pull(&registry, incoming.file, &pack, &pinned, &error);
    if (status == TN_OK) status = pull_save(arguments, &incoming, pack, &error);
    if (status == TN_OK) command_printf(stdout, "%s\n", pinned);
    pack_close(pack);
    pack_incoming_close(&incoming);
    mem_free(pinned);
    mem_free(folder);
    registry_close(&registry);
    return status == TN_OK ? command_close(COMMAND_OK) : registry_fail(&error);
}

/* ---- push ---- */

static tn_value annotate(tn_value annotations, const char *name, tn_value text) {
    return value_is(text, TN_STRING) ? value_set_take(annotations, name, value_ref(text)) : annotations;
}

/* What the registry shows: the descriptions of pack.json, by OCI's names for them. */
static tn_value pack_annotations(const struct pack_manifest *manifest, tn_value platforms) {
    tn_value all = value_object();
    all = annotate(all, "org.opencontainers.image.title", value_get(manifest->value, "title"));
    all = annotate(all, "org.opencontainers.image.version", value_get(manifest->value, "version"));
    all = annotate(all, "org.opencontainers.image.description", value_get(manifest->value, "description"));
    all = annotate(all, "org.opencontainers.image.licenses", value_get(manifest->value, "licence"));
    all = annotate(all, "org.opencontainers.image.url", value_get(manifest->value, "homepage"));
    size_t length;
    (void)value_chars(platforms, &length);
    return length ? annotate(all, PLATFORMS, platforms) : all;
}

/* Checks the whole pack and describes it. */
static int32_t push_describe(const char *path, struct pack *pack, int file, struct oci_artifact *out,
                             struct error *error) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    char key[CONFIG_PUBLIC_KEY_TEXT];
    bool is_signed;
    tn_value platforms = NULL;
    int32_t status = sign_check(pack, &is_signed, key, error);
    if (status == TN_OK) status = pack_read_platforms(pack, &platforms, error);
    if (status == TN_OK) status = oci_digest_of_file(file, out->layer_digest, &out->layer_size, error);
    if (status == TN_OK) {
        if (!is_signed) command_warn("warning: %s is not signed; `tenon pack sign` signs it", path);
        tn_value title = value_format("%s-%s" PACK_SUFFIX, manifest->name, manifest->version);
        out->annotations = pack_annotations(manifest, platforms);
        out->layer_annotations = value_set_take(value_object(), "org.opencontainers.image.title", title);
    }
    value_unref(platforms);
    return status;
}

static int push_pack(const struct arguments *arguments, struct pack *pack) {
    struct error error = ERROR_INIT;
    struct pack_registry registry;
    struct oci_artifact artifact = {.layer_size = 0};
    char digest[OCI_DIGEST_MAX + 1];
    int file = pack_descriptor(pack); /* not the path, which can name another file now */
    bool existed;
    int code = registry_open(arguments, operand_at(arguments, 1), true, &registry);
    if (code != COMMAND_OK) return code;
    const char *version = pack_manifest(pack)->version;
    const char *tag = *registry.reference.tag ? registry.reference.tag : version;
    int32_t status = push_describe(operand_at(arguments, 0), pack, file, &artifact, &error);
    if (status == TN_OK)
        status = oci_push(registry.client, &pack_kind, &artifact, file, tag, argument_given(arguments, "force"),
                          &existed, digest, &error);
    if (status == TN_OK) {
        char *pinned = registry_pinned(&registry, digest);
        command_printf(stderr, "%s %s %s %s:%s\n", pack_manifest(pack)->name, version,
                       existed ? "was already pushed to" : "pushed to", oci_client_where(registry.client), tag);
        command_printf(stdout, "%s\n", pinned);
        mem_free(pinned);
    }
    oci_artifact_finish(&artifact);
    registry_close(&registry);
    return status == TN_OK ? command_close(COMMAND_OK) : registry_fail(&error);
}

int command_pack_push(const struct arguments *arguments) {
    const char *path = operand_at(arguments, 0);
    struct error error = ERROR_INIT;
    struct pack *pack;
    if (pack_open(path, &pack, &error) != TN_OK) return pack_command_fail(&error);
    int code = push_pack(arguments, pack);
    pack_close(pack);
    return code;
}
