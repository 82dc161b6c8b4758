/*
 * command_key.c - `tenon key`: creates, lists and revokes the keys of clients over HTTP.
 *
 * The text of a key is printed once, by `create`. Nothing else prints it or its hash.
 */
#include "host/program/command_kernel.h"

/* ---- create ---- */

static bool set_limits(const struct command_kernel *kernel, tn_value *given) {
    static const char *const members[][2] = {{"requests_per_minute", "requests-per-minute"},
                                             {"open_requests", "open-requests"},
                                             {"runs", "runs"},
                                             {"tokens_per_day", "tokens-per-day"},
                                             {"cost_per_day", "cost-per-day"}};
    tn_value limits = value_object();
    bool good = true;
    for (size_t i = 0; good && i < sizeof members / sizeof *members; i++)
        good = command_kernel_set_number(kernel, &limits, members[i][0], members[i][1]);
    if (good && value_count(limits))
        *given = value_set_take(*given, "limits", limits);
    else
        value_unref(limits);
    return good;
}

int command_key_create(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value given = value_object(), created = NULL;
    int code = command_kernel_open(&kernel, arguments);
    command_kernel_set_text(&given, "name", operand_at(arguments, 0));
    command_kernel_set_text(&given, "scope", argument_text(arguments, "scope"));
    command_kernel_set_text(&given, "owner", argument_text(arguments, "owner"));
    if (!code &&
        (!command_kernel_set_number(&kernel, &given, "expires_days", "expires") || !set_limits(&kernel, &given)))
        code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "key/create", given, &created);
    if (!code && command_kernel_json(&kernel))
        command_print(created);
    else if (!code)
        command_printf(stdout, "%s\n", command_kernel_text(created, "secret"));
    value_unref(created);
    return command_kernel_close(&kernel, code);
}

/* ---- list, revoke ---- */

static void print_time(const char *word, tn_value key, const char *member) {
    const char *text = command_kernel_text(key, member);
    if (*text) command_printf(stdout, "  %s %.19sZ", word, text);
}

static void print_key(tn_value key) {
    const char *owner = command_kernel_text(key, "owner");
    command_printf(stdout, "%s  %s  %s%s  %s", command_kernel_text(key, "name"), command_kernel_text(key, "scope"),
                   *owner ? "@" : "", *owner ? owner : "operator", command_kernel_text(key, "state"));
    print_time("created", key, "created_at");
    print_time("expires", key, "expires_at");
    print_time("revoked", key, "revoked_at");
    command_printf(stdout, "\n");
}

int command_key_list(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    if (!code) code = command_kernel_call_take(&kernel, "key/list", value_object(), &result);
    tn_value keys = value_get(result, "keys");
    if (!code && command_kernel_json(&kernel)) {
        command_print(result);
    } else if (!code) {
        for (size_t i = 0; i < value_count(keys); i++) print_key(value_at(keys, i));
        if (value_count(keys) == 0) fprintf(stderr, "the store has no keys\n");
    }
    value_unref(result);
    return command_kernel_close(&kernel, code);
}

int command_key_revoke(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value given = value_object(), key = NULL;
    int code = command_kernel_open(&kernel, arguments);
    command_kernel_set_text(&given, "name", operand_at(arguments, 0));
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "key/revoke", given, &key);
    if (!code && command_kernel_json(&kernel))
        command_print(key);
    else if (!code)
        print_key(key);
    value_unref(key);
    return command_kernel_close(&kernel, code);
}
