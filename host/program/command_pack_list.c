/*
 * command_pack_list.c - `tenon pack list`: installed packs, their signers, and which of their parts can be used.
 *
 * server/pack_listing.h explains what is checked.
 */
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/program/command_pack.h"
#include "host/server/pack_listing.h"
#include <stdio.h>
#include <string.h>

struct pack_list {
    struct host *host; /* NULL if it cannot be opened */
    tn_value all;      /* with --json: the rows; otherwise NULL */
    size_t count, faults;
};

/* ---- Printing ---- */

static const char *pack_trust_text(const struct installed_pack *pack) {
    if (!pack->key) return "not signed";
    return pack->trusted ? "trusted" : "not trusted";
}

static tn_value pack_list_parts(struct pack_list *listing, const struct installed_pack *pack) {
    bool faulty;
    tn_value parts = pack_listing_parts(listing->host, pack, &faulty);
    listing->faults += faulty;
    return parts;
}

static void pack_list_json(struct pack_list *listing, const struct installed_pack *pack) {
    tn_value row = pack_listing_row(pack);
    if (!pack->fault.code) row = value_set_take(row, "parts", pack_list_parts(listing, pack));
    listing->all = value_push_take(listing->all, row);
}

static void pack_print_parts(tn_value parts) {
    const char *before = "";
    for (size_t i = 0; i < value_count(parts); i++) {
        tn_value part = value_at(parts, i), error = value_get(part, "error");
        const char *kind = command_text(part, "kind", "");
        command_printf(stdout, "    %-10s %s\n", strcmp(kind, before) == 0 ? "" : kind, command_text(part, "file", ""));
        if (error)
            command_printf(stdout, "    %-10s   cannot be used: %s [%s]\n", "", command_text(error, "message", ""),
                           command_text(error, "code", ""));
        before = kind;
    }
}

static void pack_list_text(struct pack_list *listing, const struct installed_pack *pack) {
    if (listing->count > 1) putchar('\n');
    command_printf(stdout, "%s %s  %s\n    %s\n", pack->name, pack->version,
                   pack->fault.code ? "cannot be used" : pack->manifest.title, pack->folder);
    if (pack->fault.code) {
        command_printf(stdout, "    %s [%s]\n", pack->fault.message, pack->fault.code);
        return;
    }
    command_printf(stdout, "    %s%s%s\n", pack_trust_text(pack), pack->key ? ", signed by " : "",
                   pack->key ? pack->key : "");
    if (pack->from) command_printf(stdout, "    from %s\n", pack->from);
    if (pack->version_in_use)
        command_printf(stdout, "    not in use, because %s is installed: " PACK_WHICH_IS_USED "\n",
                       pack->version_in_use);
    tn_value parts = pack_list_parts(listing, pack);
    pack_print_parts(parts);
    value_unref(parts);
}

static void pack_list_add(void *user, const struct installed_pack *pack) {
    struct pack_list *listing = user;
    listing->count++;
    listing->faults += pack->fault.code != NULL;
    if (listing->all)
        pack_list_json(listing, pack);
    else
        pack_list_text(listing, pack);
}

int command_pack_list(const struct arguments *arguments) {
    struct config *config = pack_load_config(arguments);
    if (!config) return COMMAND_PLUGIN_PROBLEM;
    pack_warn_about_trust(config);
    struct error error = ERROR_INIT;
    struct pack_list listing = {.host = command_open(arguments, &error),
                                .all = argument_given(arguments, "json") ? value_array() : NULL};
    if (!listing.host) command_warn("warning: only the hashes are checked: %s", error.message);
    error_finish(&error);
    packs_each(config, pack_list_add, &listing);
    if (listing.all) {
        tn_value result = value_set_take(value_object(), "packs", listing.all);
        command_print(result);
        value_unref(result);
    } else if (listing.count == 0) {
        fprintf(stderr, "no packs are installed\n");
    }
    host_free(listing.host);
    config_free(config);
    return command_close(listing.faults ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK);
}
