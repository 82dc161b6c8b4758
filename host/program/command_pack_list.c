/*
 * command_pack_list.c - `tenon pack list`: installed packs, their signers, and which of their parts can be used.
 *
 * Both the host of the command and, with --connect, the one that runs make the rows of server/pack_listing.h, which
 * explains what is checked.
 */
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/program/command_pack.h"
#include "host/program/method_caller.h"
#include "host/server/pack_listing.h"
#include <stdio.h>
#include <string.h>

/* ---- Printing ---- */

static bool pack_flag(tn_value row, const char *key) { return value_get(row, key) == value_bool(true); }

static const char *pack_trust_text(tn_value row) {
    if (!*command_text(row, "key", "")) return "not signed";
    return pack_flag(row, "trusted") ? "trusted" : "not trusted";
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

/* The version that is used instead of that of the row. */
static const char *pack_version_in_use(tn_value rows, tn_value row) {
    for (size_t i = 0; i < value_count(rows); i++) {
        tn_value other = value_at(rows, i);
        if (pack_flag(other, "in_use") && value_equal(value_get(other, "name"), value_get(row, "name")))
            return command_text(other, "version", "?");
    }
    return "?";
}

static void pack_print_row(tn_value rows, tn_value row) {
    tn_value fault = value_get(row, "error");
    const char *key = command_text(row, "key", ""), *from = command_text(row, "from", NULL);
    command_printf(stdout, "%s %s  %s\n    %s\n", command_text(row, "name", "?"), command_text(row, "version", "?"),
                   fault ? "cannot be used" : command_text(row, "title", ""), command_text(row, "folder", ""));
    if (fault) {
        command_printf(stdout, "    %s [%s]\n", command_text(fault, "message", ""), command_text(fault, "code", ""));
        return;
    }
    command_printf(stdout, "    %s%s%s\n", pack_trust_text(row), *key ? ", signed by " : "", key);
    if (from) command_printf(stdout, "    from %s\n", from);
    if (!pack_flag(row, "in_use"))
        command_printf(stdout, "    not in use, because %s is installed: " PACK_WHICH_IS_USED "\n",
                       pack_version_in_use(rows, row));
    pack_print_parts(value_get(row, "parts"));
}

/* The pack is not faulty because a plugin of an earlier place has the same components. */
static bool pack_row_is_faulty(tn_value row) {
    tn_value parts = value_get(row, "parts");
    if (value_get(row, "error")) return true;
    for (size_t i = 0; i < value_count(parts); i++) {
        tn_value error = value_get(value_at(parts, i), "error");
        if (error && !value_text_is(value_get(error, "code"), "PLUGIN_SHADOWED")) return true;
    }
    return false;
}

/* Returns the exit code. */
static int pack_print(const struct arguments *arguments, tn_value rows) {
    size_t faults = 0;
    for (size_t i = 0; i < value_count(rows); i++) faults += pack_row_is_faulty(value_at(rows, i));
    if (argument_given(arguments, "json")) {
        tn_value result = value_set_take(value_object(), "packs", value_ref(rows));
        command_print(result);
        value_unref(result);
    } else {
        for (size_t i = 0; i < value_count(rows); i++) {
            if (i) putchar('\n');
            pack_print_row(rows, value_at(rows, i));
        }
        if (!value_count(rows)) fprintf(stderr, "no packs are installed\n");
    }
    return command_close(faults ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK);
}

/* ---- In a host of the command ---- */

struct pack_list {
    struct host *host; /* NULL if it cannot be opened */
    tn_value rows;
};

static void pack_list_add(void *user, const struct installed_pack *pack) {
    struct pack_list *listing = user;
    tn_value row = pack_listing_row(pack);
    tn_value verified = pack->fault.code ? NULL : pack_listing_verify(pack);
    bool usable = verified && listing->host && !pack->version_in_use;
    tn_value parts = usable ? pack_listing_check(listing->host, pack->folder, verified) : value_ref(verified);
    if (parts) row = value_set_take(row, "parts", parts);
    value_unref(verified);
    listing->rows = value_push_take(listing->rows, row);
}

static int pack_list_own(const struct arguments *arguments) {
    struct config *config = pack_load_config(arguments);
    if (!config) return COMMAND_PLUGIN_PROBLEM;
    pack_warn_about_trust(config);
    struct error error = ERROR_INIT;
    struct pack_list listing = {.host = command_open(arguments, &error), .rows = value_array()};
    if (!listing.host) command_warn("warning: only the hashes are checked: %s", error.message);
    error_finish(&error);
    packs_each(config, pack_list_add, &listing);
    int code = pack_print(arguments, listing.rows);
    value_unref(listing.rows);
    host_free(listing.host);
    config_free(config);
    return code;
}

/* ---- In the host that runs ---- */

/* The row with its parts, which pack/list does not have. A new reference; on failure NULL, and *code is the exit code.
 */
static tn_value pack_show_take(struct method_caller *caller, tn_value row, int *code) {
    tn_value params = value_set_take(value_object_reserve(2), "name", value_ref(value_get(row, "name"))), shown = NULL;
    if (value_get(row, "error")) return value_unref(params), value_ref(row);
    params = value_set_take(params, "version", value_ref(value_get(row, "version")));
    *code = method_caller_call_take(caller, "pack/show", params, &shown);
    return shown;
}

static int pack_list_sent(const struct arguments *arguments) {
    struct method_caller *caller;
    tn_value list = NULL, rows = value_array();
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) code = method_caller_call_take(caller, "pack/list", value_object(), &list);
    tn_value packs = value_get(list, "packs");
    const char *trust = command_text(list, "trust_error", NULL);
    if (trust) command_warn("warning: packs.trust: %s", trust);
    for (size_t i = 0; !code && i < value_count(packs); i++) {
        tn_value row = pack_show_take(caller, value_at(packs, i), &code);
        if (row) rows = value_push_take(rows, row);
    }
    if (!code) code = pack_print(arguments, rows);
    value_unref(rows);
    value_unref(list);
    method_caller_free(caller);
    return code;
}

int command_pack_list(const struct arguments *arguments) {
    return argument_given(arguments, "connect") ? pack_list_sent(arguments) : pack_list_own(arguments);
}
