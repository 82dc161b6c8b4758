/*
 * pack.c - `tenon pack`: packs made, signed, checked, installed and removed.
 *
 * What a signature is worth is said in one place, `judge`: a wrong one is an error everywhere, one that is missing or
 * of a key that nobody trusts is an error for `verify` and a warning for `install`.
 */
#include "host/pack/pack.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include "host/config/config.h"
#include "host/pack/build.h"
#include "host/pack/install.h"
#include "host/pack/installed.h"
#include "host/pack/sign.h"
#include <stdio.h>
#include <string.h>

static int fail_and_finish(struct error *error) {
    /* A file that was named wrongly is a fault of the command line's. */
    bool usage = strcmp(error->code, "IO") == 0;
    int code = command_fail_error(usage ? COMMAND_USAGE : COMMAND_PLUGIN_PROBLEM, error);
    error_finish(error);
    return code;
}

/* NULL: said on standard error. */
static struct config *load_config(const struct arguments *arguments) {
    struct config *config = NULL;
    struct error error = ERROR_INIT;
    if (argument_given(arguments, "no-config")) return config_empty();
    if (config_load(argument_text(arguments, "config"), &config, &error) != TN_OK) fail_and_finish(&error);
    return config;
}

/* A file of packs.trust that cannot be read must not look like a key that is not trusted. */
static void warn_of_trust(const struct config *config) {
    struct error why = ERROR_INIT;
    config_trusts(config, NULL, &why);
    if (why.code) command_fail(0, "warning: packs.trust: %s", why.message);
    error_finish(&why);
}

/* ---- build, sign, keygen ---- */

int command_pack_build(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    char *path = NULL;
    if (pack_build(operand_at(arguments, 0), argument_text(arguments, "output"), argument_given(arguments, "force"),
                   &path, &error) != TN_OK)
        return fail_and_finish(&error);
    command_say(stdout, "%s\n", path);
    mem_free(path);
    return command_close(COMMAND_OK);
}

int command_pack_sign(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *file = operand_at(arguments, 0), *key_file = argument_text(arguments, "key");
    char key[CONFIG_KEY_TEXT];
    if (!key_file)
        return command_fail(COMMAND_USAGE, "--key is missing: the secret key, as `tenon pack keygen` makes one");
    if (sign_pack(file, key_file, key, &error) != TN_OK) return fail_and_finish(&error);
    command_say(stderr, "%s: signed with the key %s\n", file, key);
    return COMMAND_OK;
}

int command_pack_keygen(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *name = operand_at(arguments, 0);
    char key[CONFIG_KEY_TEXT];
    if (sign_keygen(name, key, &error) != TN_OK) return fail_and_finish(&error);
    command_say(stderr, "made %s.key, which is secret, and %s.pub. Whoever trusts it writes in tenon.yaml:\n\n", name,
                name);
    command_say(stdout, "packs: {trust: [\"%s\"]}\n", key);
    return command_close(COMMAND_OK);
}

/* ---- verify, install ---- */

struct judgement {
    bool is_signed, trusted;
    char key[CONFIG_KEY_TEXT];
    struct config *config; /* that was asked; NULL where none was. config_free it */
};

/* `wanted`: a key or its file, instead of those that the configuration trusts. */
static int32_t judge(const struct arguments *arguments, const struct pack *pack, const char *wanted,
                     struct judgement *out, struct error *error) {
    char key[CONFIG_KEY_TEXT];
    int32_t status = sign_check(pack, &out->is_signed, out->key, error);
    if (status != TN_OK) return status;
    if (wanted) {
        if (config_is_key(wanted))
            memcpy(key, wanted, CONFIG_KEY_TEXT);
        else if ((status = config_read_key(wanted, key, error)) != TN_OK)
            return status;
        out->trusted = out->is_signed && strcmp(out->key, key) == 0;
        return TN_OK;
    }
    out->config = load_config(arguments);
    if (!out->config) return error_set(error, TN_INVALID, "INVALID_CONFIG", "the configuration cannot be used");
    warn_of_trust(out->config);
    out->trusted = out->is_signed && config_trusts(out->config, out->key, NULL);
    return TN_OK;
}

static int verify(const struct arguments *arguments, struct pack *pack) {
    const char *wanted = argument_text(arguments, "key");
    struct error error = ERROR_INIT;
    struct judgement judgement = {0};
    int32_t status = judge(arguments, pack, wanted, &judgement, &error);
    config_free(judgement.config);
    if (status != TN_OK || pack_read_files(pack, NULL, &error) != TN_OK) return fail_and_finish(&error);
    const struct pack_manifest *manifest = pack_manifest(pack);
    command_say(stdout, "%s: %s %s, %zu file%s, %s%s%s\n", pack_file(pack), manifest->name, manifest->version,
                value_count(manifest->files), value_count(manifest->files) == 1 ? "" : "s",
                judgement.is_signed ? "signed by " : "not signed", judgement.key,
                judgement.trusted ? ", which is trusted" : "");
    if (judgement.trusted) return command_close(COMMAND_OK);
    command_flush();
    if (!judgement.is_signed)
        return command_fail(COMMAND_PLUGIN_PROBLEM, "%s: it is whole, and nobody has signed it", pack_file(pack));
    return command_fail(COMMAND_PLUGIN_PROBLEM, "%s: it is whole, and signed by another key than %s", pack_file(pack),
                        wanted ? wanted : "those that tenon.yaml trusts (packs.trust)");
}

#define WHICH_IS_USED "of a pack the newest trusted version is used, or where none is trusted, the newest"

static void warn_of_other(void *user, const struct installed_pack *pack) {
    const struct pack_manifest *manifest = user;
    if (pack->instead && strcmp(pack->name, manifest->name) == 0 && strcmp(pack->version, manifest->version) == 0)
        command_fail(0, "warning: %s %s is not used, since %s is installed: " WHICH_IS_USED, pack->name, pack->version,
                     pack->instead);
}

static int install(const struct arguments *arguments, struct pack *pack) {
    const struct pack_manifest *manifest = pack_manifest(pack);
    struct error error = ERROR_INIT;
    struct judgement judgement = {0};
    enum pack_installed outcome = PACK_NEW;
    int32_t status = judge(arguments, pack, NULL, &judgement, &error);
    if (status == TN_OK) status = packs_install(pack, judgement.is_signed ? judgement.key : NULL, &outcome, &error);
    if (status != TN_OK) {
        config_free(judgement.config);
        return fail_and_finish(&error);
    }
    if (!judgement.trusted)
        command_fail(0, "warning: %s %s is %s%s%s: its plugins run in processes of their own%s", manifest->name,
                     manifest->version, judgement.is_signed ? "signed by " : "not signed", judgement.key,
                     judgement.is_signed ? ", which tenon.yaml does not trust" : "",
                     judgement.is_signed ? "; to trust it, add the key to packs.trust" : "");
    command_say(stderr, "%s %s %s\n", manifest->name, manifest->version,
                outcome == PACK_NEW ? "is installed" : "was installed already");
    packs_each(judgement.config, warn_of_other, (void *)(uintptr_t)manifest);
    config_free(judgement.config);
    return COMMAND_OK;
}

static int with_pack(const struct arguments *arguments,
                     int (*act)(const struct arguments *arguments, struct pack *pack)) {
    struct error error = ERROR_INIT;
    struct pack *pack;
    if (pack_open(operand_at(arguments, 0), &pack, &error) != TN_OK) return fail_and_finish(&error);
    int code = act(arguments, pack);
    pack_close(pack);
    return code;
}

int command_pack_verify(const struct arguments *arguments) { return with_pack(arguments, verify); }

int command_pack_install(const struct arguments *arguments) {
    int code = with_pack(arguments, install);
    if (code != COMMAND_OK) fprintf(stderr, "nothing was installed\n");
    return code;
}

/* ---- list, remove ---- */

struct listing {
    tn_value all; /* of --json; NULL without */
    size_t count, faults;
};

static const char *trust_of(const struct installed_pack *pack) {
    if (!pack->key) return "not signed";
    return pack->trusted ? "trusted" : "not trusted";
}

static void list_json(struct listing *listing, const struct installed_pack *pack) {
    tn_value row = value_set_take(value_object(), "name", value_text(pack->name));
    row = value_set_take(row, "version", value_text(pack->version));
    row = value_set_take(row, "folder", value_string_lossy(pack->folder, strlen(pack->folder)));
    row = value_set_take(row, "in_use", value_bool(!pack->instead));
    if (pack->fault.code) {
        row = value_set_take(row, "error", error_to_value(&pack->fault));
    } else {
        row = value_set_take(row, "title", value_text(pack->manifest.title));
        row = value_set_take(row, "key", pack->key ? value_text(pack->key) : value_null());
        row = value_set_take(row, "trusted", value_bool(pack->trusted));
        for (const char *const *key = pack_lists; *key; key++) {
            tn_value list = value_get(pack->manifest.value, *key);
            row = value_set_take(row, *key, list ? value_ref(list) : value_array());
        }
    }
    listing->all = value_push_take(listing->all, row);
}

static void list_text(const struct listing *listing, const struct installed_pack *pack) {
    if (listing->count > 1) putchar('\n');
    command_say(stdout, "%s %s  %s\n    %s\n", pack->name, pack->version,
                pack->fault.code ? "cannot be used" : pack->manifest.title, pack->folder);
    if (pack->fault.code) {
        command_say(stdout, "    %s [%s]\n", pack->fault.message, pack->fault.code);
        return;
    }
    command_say(stdout, "    %s%s%s\n", trust_of(pack), pack->key ? ", signed by " : "", pack->key ? pack->key : "");
    if (pack->instead) command_say(stdout, "    not in use: %s is; " WHICH_IS_USED "\n", pack->instead);
    for (const char *const *key = pack_lists; *key; key++) {
        tn_value list = value_get(pack->manifest.value, *key);
        for (size_t i = 0; i < value_count(list); i++)
            command_say(stdout, "    %-10s %s\n", i == 0 ? *key : "", value_chars(value_at(list, i), NULL));
    }
}

static void list_pack(void *user, const struct installed_pack *found) {
    struct listing *listing = user;
    struct installed_pack pack = *found; /* what is wrong with a file of it is told as well */
    if (!pack.fault.code) pack_verify_all(found, &pack.fault);
    listing->count++;
    listing->faults += pack.fault.code != NULL;
    if (listing->all)
        list_json(listing, &pack);
    else
        list_text(listing, &pack);
    if (!found->fault.code) error_finish(&pack.fault);
}

int command_pack_list(const struct arguments *arguments) {
    struct config *config = load_config(arguments);
    if (!config) return COMMAND_PLUGIN_PROBLEM;
    warn_of_trust(config);
    struct listing listing = {.all = argument_given(arguments, "json") ? value_array() : NULL};
    packs_each(config, list_pack, &listing);
    if (listing.all) {
        tn_value result = value_set_take(value_object(), "packs", listing.all);
        command_print(result);
        value_unref(result);
    } else if (listing.count == 0) {
        fprintf(stderr, "no packs are installed\n");
    }
    config_free(config);
    return command_close(listing.faults ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK);
}

int command_pack_remove(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    const char *version = operand_count(arguments) > 1 ? operand_at(arguments, 1) : NULL;
    struct error error = ERROR_INIT;
    uint32_t count;
    if (packs_remove(name, version, &count, &error) != TN_OK) return fail_and_finish(&error);
    fprintf(stderr, "%s: %u version%s removed\n", name, count, count == 1 ? "" : "s");
    return COMMAND_OK;
}
