/*
 * command_plugin_reset.c - `tenon plugin reset`, and how `plugin list` and `doctor` describe the deaths of a plugin.
 */
#include "host/program/command_plugin_reset.h"
#include "adl/value/buffer.h"
#include "host/assembly/host.h"
#include "host/base/time_text.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"

int64_t plugin_deaths_describe(tn_value record, const char *plugin_id, int64_t now_ms, struct buffer *out) {
    if (!record) return 0;
    char time[TIME_TEXT];
    int64_t deaths = value_to_int(value_get(record, "deaths"));
    int64_t restart_ms = value_to_int(value_get(record, "restart_ms"));
    tn_value message = value_get(record, "message");
    time_text(value_to_int(value_get(record, "last_ms")), time);
    buffer_format(out, "its process has ended %lld time%s, the last time at %s: %s", (long long)deaths,
                  deaths == 1 ? "" : "s", time, value_chars(message, NULL));
    if (restart_ms > now_ms) {
        time_text(restart_ms, time);
        buffer_format(out, "; the host with process id %lld starts it again at %s at the earliest",
                      (long long)value_to_int(value_get(record, "host")), time);
    }
    buffer_format(out, "; `tenon plugin reset %s` clears this", plugin_id);
    return deaths;
}

int command_plugin_reset(const struct arguments *arguments) {
    const char *id = operand_at(arguments, 0);
    struct error error = ERROR_INIT;
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int64_t deaths = 0;
    int code = COMMAND_OK;
    if (registry_reset_plugin(host_registry(host), id, &deaths, &error) != TN_OK)
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    else if (deaths == 0)
        command_printf(stdout, "%s: nothing to clear: none of its processes has ended by itself\n", id);
    else
        command_printf(stdout, "%s: cleared %lld death%s; a running host starts it again at once\n", id,
                       (long long)deaths, deaths == 1 ? "" : "s");
    error_finish(&error);
    host_free(host);
    return code;
}
