/*
 * command_pack.c - `tenon pack`: builds, signs, verifies, installs and removes packs. command_pack_list.c lists them.
 *
 * check_signature decides what a signature means. An invalid signature is always an error. A missing signature, or one
 * of a key that is not trusted, is an error for `verify` and a warning for `install`.
 */
#include "host/program/command_pack.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/net/oci/oci_reference.h"
#include "host/plugin/pack/pack.h"
#include "host/plugin/pack/pack_build.h"
#include "host/plugin/pack/pack_install.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/pack/pack_sign.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_pack_registry.h"
#include <stdio.h>
#include <string.h>

int pack_command_fail(struct error *error) {
    /* A file that cannot be opened is an error of the command line. */
    bool usage = strcmp(error->code, "IO") == 0;
    int code = command_report_error(usage ? COMMAND_USAGE : COMMAND_PLUGIN_PROBLEM, error);
    error_finish(error);
    return code;
}

static int32_t pack_read_config(const struct arguments *arguments, struct config **out, struct error *error) {
    if (!argument_given(arguments, "no-config")) return config_load(argument_text(arguments, "config"), out, error);
    *out = config_empty();
    return TN_OK;
}

struct config *pack_load_config(const struct arguments *arguments) {
    struct config *config = NULL;
    struct error error = ERROR_INIT;
    if (pack_read_config(arguments, &config, &error) != TN_OK) pack_command_fail(&error);
    return config;
}

void pack_warn_about_trust(const struct config *config) {
    struct error why = ERROR_INIT;
    config_trusts(config, NULL, &why);
    if (why.code) command_warn("warning: packs.trust: %s", why.message);
    error_finish(&why);
}

/* ---- build, sign, keygen ---- */

int command_pack_build(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    char *path = NULL;
    if (pack_build(operand_at(arguments, 0), argument_text(arguments, "output"), argument_given(arguments, "force"),
                   &path, &error) != TN_OK)
        return pack_command_fail(&error);
    command_printf(stdout, "%s\n", path);
    mem_free(path);
    return command_close(COMMAND_OK);
}

int command_pack_sign(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *file = operand_at(arguments, 0), *key_file = argument_text(arguments, "key");
    char key[CONFIG_PUBLIC_KEY_TEXT];
    if (!key_file)
        return command_report(COMMAND_USAGE,
                              "--key is missing: name the secret key, NAME.key from `tenon pack keygen`");
    if (sign_pack(file, key_file, key, &error) != TN_OK) return pack_command_fail(&error);
    command_printf(stderr, "%s: signed with the key %s\n", file, key);
    return COMMAND_OK;
}

int command_pack_keygen(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *name = operand_at(arguments, 0);
    char key[CONFIG_PUBLIC_KEY_TEXT];
    if (sign_keygen(name, key, &error) != TN_OK) return pack_command_fail(&error);
    command_printf(stderr,
                   "created %s.key, which is secret, and %s.pub. To trust packs signed with it, add to tenon.yaml:\n\n",
                   name, name);
    command_printf(stdout, "packs: {trust: [\"%s\"]}\n", key);
    return command_close(COMMAND_OK);
}

/* ---- verify, install ---- */

struct pack_signature {
    bool is_signed, trusted;
    char key[CONFIG_PUBLIC_KEY_TEXT];
    struct config *config; /* NULL when `required` is given. Free it with config_free */
};

/* `required` is a key, or a file with one, that replaces the keys that the configuration trusts; NULL if not given. */
static int32_t check_signature(const struct arguments *arguments, const struct pack *pack, const char *required,
                               struct pack_signature *out, struct error *error) {
    char key[CONFIG_PUBLIC_KEY_TEXT];
    int32_t status = sign_check(pack, &out->is_signed, out->key, error);
    if (status != TN_OK) return status;
    if (required) {
        if (config_is_public_key(required))
            memcpy(key, required, CONFIG_PUBLIC_KEY_TEXT);
        else if ((status = config_read_public_key(required, key, error)) != TN_OK)
            return status;
        out->trusted = out->is_signed && strcmp(out->key, key) == 0;
        return TN_OK;
    }
    status = pack_read_config(arguments, &out->config, error);
    if (status != TN_OK) return status;
    pack_warn_about_trust(out->config);
    out->trusted = out->is_signed && config_trusts(out->config, out->key, NULL);
    return TN_OK;
}

static int verify_pack(const struct arguments *arguments, struct pack *pack) {
    const char *required = argument_text(arguments, "key");
    struct error error = ERROR_INIT;
    struct pack_signature signature = {0};
    int32_t status = check_signature(arguments, pack, required, &signature, &error);
    config_free(signature.config);
    if (status != TN_OK || pack_read_files(pack, NULL, &error) != TN_OK) return pack_command_fail(&error);
    const struct pack_manifest *manifest = pack_manifest(pack);
    command_printf(stdout, "%s: %s %s, %zu file%s, %s%s%s\n", pack_file(pack), manifest->name, manifest->version,
                   value_count(manifest->files), value_count(manifest->files) == 1 ? "" : "s",
                   signature.is_signed ? "signed by " : "not signed", signature.key,
                   signature.trusted ? ", which is trusted" : "");
    if (signature.trusted) return command_close(COMMAND_OK);
    command_flush();
    if (!signature.is_signed)
        return command_report(COMMAND_PLUGIN_PROBLEM, "%s: the pack is complete, but it is not signed",
                              pack_file(pack));
    return command_report(COMMAND_PLUGIN_PROBLEM, "%s: the pack is complete, but it is not signed by %s",
                          pack_file(pack), required ? required : "a key that tenon.yaml trusts (packs.trust)");
}

static void warn_about_version(void *user, const struct installed_pack *pack) {
    const struct pack_manifest *manifest = user;
    if (pack->version_in_use && strcmp(pack->name, manifest->name) == 0 &&
        strcmp(pack->version, manifest->version) == 0)
        command_warn("warning: %s %s is not used, because %s is installed: " PACK_WHICH_IS_USED, pack->name,
                     pack->version, pack->version_in_use);
}

/* Warns about plugins of the installed pack that claim what another plugin of the same place has: neither is used. */
static void warn_about_rivals(const struct arguments *arguments, const struct pack_manifest *manifest) {
    struct host *host = value_count(manifest->plugins) ? command_open_quiet(arguments, NULL) : NULL;
    char *packs = config_packs_folder();
    tn_value prefix = value_format("%s/%s/%s/", packs ? packs : "", manifest->name, manifest->version);
    size_t length;
    const char *folder = value_chars(prefix, &length);
    for (size_t i = 0; host && i < registry_problems(host_registry(host)); i++) {
        const struct problem *problem = registry_problem_at(host_registry(host), i);
        if (!problem->rival) continue;
        if (strncmp(problem->path, folder, length) == 0 || strncmp(problem->rival, folder, length) == 0)
            command_warn("warning: %s [%s]", problem->message, problem->code);
    }
    value_unref(prefix);
    mem_free(packs);
    host_free(host);
}

/* `from` is the pinned reference of a registry; NULL for a file. */
static int install_pack(const struct arguments *arguments, struct pack *pack, const char *from) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    struct error error = ERROR_INIT;
    struct pack_signature signature = {0};
    enum pack_installed outcome = PACK_NEW;
    int32_t status = check_signature(arguments, pack, NULL, &signature, &error);
    if (status == TN_OK)
        status = packs_install(pack, signature.is_signed ? signature.key : NULL, from, &outcome, &error);
    if (status != TN_OK) {
        config_free(signature.config);
        return pack_command_fail(&error);
    }
    if (!signature.trusted)
        command_warn("warning: %s %s is %s%s%s%s%s", manifest->name, manifest->version,
                     signature.is_signed ? "signed by " : "not signed", signature.key,
                     signature.is_signed ? ", which tenon.yaml does not trust" : "",
                     value_count(manifest->plugins) ? ": its plugins run in separate processes" : "",
                     signature.is_signed ? "; to trust it, add the key to packs.trust" : "");
    command_printf(stderr, "%s %s %s\n", manifest->name, manifest->version,
                   outcome == PACK_NEW ? "installed" : "was already installed");
    packs_each(signature.config, warn_about_version, (void *)(uintptr_t)manifest);
    warn_about_rivals(arguments, manifest);
    config_free(signature.config);
    return COMMAND_OK;
}

/* Opens the file, or downloads the pack that the reference names. Returns the exit code. */
static int open_or_download(const struct arguments *arguments, const char *given, struct pack **pack, char **pinned) {
    struct error error = ERROR_INIT;
    *pinned = NULL;
    if (oci_is_reference(given)) return pack_download(arguments, given, pack, pinned);
    return pack_open(given, pack, &error) == TN_OK ? COMMAND_OK : pack_command_fail(&error);
}

int command_pack_verify(const struct arguments *arguments) {
    struct pack *pack;
    char *pinned;
    int code = open_or_download(arguments, operand_at(arguments, 0), &pack, &pinned);
    if (code == COMMAND_OK) {
        code = verify_pack(arguments, pack);
        pack_close(pack);
    }
    mem_free(pinned);
    return code;
}

static int install_one(const struct arguments *arguments, const char *given) {
    struct pack *pack;
    char *pinned;
    int code = open_or_download(arguments, given, &pack, &pinned);
    if (code == COMMAND_OK) {
        code = install_pack(arguments, pack, pinned);
        if (code == COMMAND_OK && pinned) command_printf(stdout, "%s\n", pinned);
        pack_close(pack);
    }
    mem_free(pinned);
    return code;
}

/* A pack that may have been installed from a reference. */
struct pack_origin {
    const char *reference; /* as it is recorded */
    bool found;
};

static void find_origin(void *user, const struct installed_pack *pack) {
    struct pack_origin *origin = user;
    if (!pack->from || strcmp(pack->from, origin->reference) != 0 || pack_verify_all(pack, NULL) != TN_OK) return;
    origin->found = true;
    command_printf(stderr, "%s %s was already installed\n", pack->name, pack->version);
}

/* The reference in the form in which it is recorded; a new text. An invalid one stays as it is. */
static char *recorded_reference(const char *given) {
    struct oci_reference reference;
    struct buffer text;
    if (oci_reference_read(given, &reference, NULL) != TN_OK) return mem_text(given);
    buffer_init(&text, SIZE_MAX);
    oci_reference_write(&text, &reference);
    return buffer_detach(&text, NULL);
}

/* Installs what packs.install lists. What is installed and unchanged needs no request. */
static int install_listed(const struct arguments *arguments) {
    struct config *config = pack_load_config(arguments);
    tn_value list = config_pack_installs(config);
    int code = config ? COMMAND_OK : COMMAND_PLUGIN_PROBLEM;
    if (config && value_count(list) == 0)
        code = command_report(COMMAND_USAGE, "name a pack: its file, or oci://HOST/NAME:TAG; tenon.yaml has no "
                                             "`packs.install`");
    for (size_t i = 0; code == COMMAND_OK && i < value_count(list); i++) {
        const char *given = value_chars(value_at(list, i), NULL);
        char *reference = recorded_reference(given);
        struct pack_origin origin = {reference, false};
        packs_each(config, find_origin, &origin);
        mem_free(reference);
        if (!origin.found) code = install_one(arguments, given);
    }
    config_free(config);
    return code;
}

int command_pack_install(const struct arguments *arguments) {
    bool listed = operand_count(arguments) == 0;
    int code = listed ? install_listed(arguments) : install_one(arguments, operand_at(arguments, 0));
    if (code == COMMAND_OK) return command_close(code);
    if (!listed) fprintf(stderr, "nothing was installed\n");
    return code;
}

/* ---- remove ---- */

int command_pack_remove(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    const char *version = operand_count(arguments) > 1 ? operand_at(arguments, 1) : NULL;
    struct error error = ERROR_INIT;
    uint32_t count;
    if (packs_remove(name, version, &count, &error) != TN_OK) return pack_command_fail(&error);
    command_printf(stderr, "%s: %u version%s removed\n", name, count, count == 1 ? "" : "s");
    return COMMAND_OK;
}
