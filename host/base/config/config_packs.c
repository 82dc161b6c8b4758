/*
 * config_packs.c - reads `packs` of tenon.yaml.
 */
#include "adl/diagnostic/diagnostic.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <string.h>

void config_read_packs(struct config_reader *reader, const struct tree_node *node) {
    if (config_expect_mapping(reader, node, "packs", "a mapping with `trust`, `install` and `registries`"))
        config_read_keys(reader, node, "packs");
}

static void config_read_one_public_key(struct config_reader *reader, const struct tree_node *node) {
    if (node->kind != TN_STRING) {
        config_report_kind(reader, node, "packs.trust", "a public key, or the path of a .pub file");
        return;
    }
    bool is_path = !config_is_public_key(value_chars(node->value, NULL));
    reader->config->trust =
        value_push_take(reader->config->trust, is_path ? config_resolve_node(reader, node) : value_ref(node->value));
}

void config_read_trust(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "packs.trust", CONFIG_TRUST_MAX, "public keys", config_read_one_public_key);
}

static void config_read_one_pack(struct config_reader *reader, const struct tree_node *node) {
    const char *text = node->kind == TN_STRING ? value_chars(node->value, NULL) : "";
    if (strncmp(text, "oci://", 6) == 0 && strstr(text, "@sha256:"))
        reader->config->installs = value_push_take(reader->config->installs, value_ref(node->value));
    else
        config_report_value(
            reader, node, "packs.install",
            "a reference with a digest, oci://HOST[:PORT]/NAME@sha256:…, as `tenon pack push` prints it");
}

void config_read_pack_installs(struct config_reader *reader, const struct tree_node *node) {
    config_read_list(reader, node, "packs.install", CONFIG_INSTALLS_MAX, "packs", config_read_one_pack);
}

/* Checks {user?, password?, plain_http?}. No message contains a value, because it can be a secret in a wrong place. */
static bool config_check_registry(struct config_reader *reader, const struct tree_node *node, const char *where) {
    static const char *const members[] = {"user", "password", "plain_http"};
    static const char expected[] =
        "a mapping with `user` and `password: {secret: NAME}` (never the password itself), or "
        "`plain_http`";
    bool good = node->kind == TN_OBJECT;
    for (uint32_t i = 0; good && i < node->count; i++)
        good = config_expect_key(reader, &node->items[i], "a registry", members, 3) != KEY_UNKNOWN;
    if (node->kind == TN_OBJECT && !good) return false;
    const struct tree_node *user = good ? tree_get(node, "user") : NULL,
                           *password = good ? tree_get(node, "password") : NULL,
                           *plain = good ? tree_get(node, "plain_http") : NULL,
                           *name = password ? tree_get(password, "secret") : NULL;
    good = good && (!user || user->kind == TN_STRING) && (!plain || plain->kind == TN_BOOL);
    if (password) good = good && user && password->kind == TN_OBJECT && password->count == 1 && name;
    if (name) good = good && name->kind == TN_STRING;
    if (good && (user == NULL) == (password == NULL)) return true;
    config_report_kind(reader, node, where, expected);
    return false;
}

void config_read_pack_registries(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "packs.registries", "a mapping of hosts to mappings")) return;
    uint32_t count = config_usable_count(reader, node, "packs.registries", CONFIG_HOSTS_MAX, "registries");
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        if (!config_check_registry(reader, item->node, config_where("packs.registries", item->key).text)) continue;
        reader->config->registries =
            value_set_key_take(reader->config->registries, value_ref(item->key), tree_to_value(item->node));
    }
}
