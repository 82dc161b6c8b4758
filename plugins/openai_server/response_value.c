/*
 * response_value.c - the Response.
 */
#include "openai_server.h"

tn_value response_usage(tn_value usage) {
    int64_t in = tn_get_int(usage, "input_tokens", 0), out = tn_get_int(usage, "output_tokens", 0);
    return tn_build("{s:I, s:{s:I, s:I}, s:I, s:{s:I}, s:I}", "input_tokens", in, "input_tokens_details",
                    "cached_tokens", tn_get_int(usage, "cached_tokens", 0), "cache_write_tokens",
                    tn_get_int(usage, "cache_write_tokens", 0), "output_tokens", out, "output_tokens_details",
                    "reasoning_tokens", tn_get_int(usage, "reasoning_tokens", 0), "total_tokens",
                    tn_get_int(usage, "total_tokens", in + out));
}

tn_value response_events_value(const struct response_events *events) {
    static const struct {
        const char *name, *otherwise;
    } echoed[] = {{"instructions", "null"},
                  {"max_output_tokens", "null"},
                  {"metadata", "{}"},
                  {"parallel_tool_calls", "true"},
                  {"previous_response_id", "null"},
                  {"store", "true"},
                  {"temperature", "1"},
                  {"tool_choice", "\"auto\""},
                  {"tools", "[]"},
                  {"top_p", "1"},
                  {"truncation", "\"disabled\""}};
    tn_value made = tn_build("{s:s, s:s, s:I, s:s, s:b, s:v?, s:v?, s:s, s:v, s:{s:n, s:n}, s:{s:{s:s}}, s:v*}", "id",
                             events->id, "object", "response", "created_at", events->created, "status", events->status,
                             "background", (int)events->background, "error", events->error, "incomplete_details",
                             events->incomplete, "model", events->model, "output", events->output, "reasoning",
                             "effort", "summary", "text", "format", "type", "text", "usage", events->usage);
    if (made != NULL && events->completed != 0) made = tn_set_take(made, "completed_at", tn_int(events->completed));
    for (size_t i = 0; made != NULL && i < sizeof echoed / sizeof *echoed; i++) {
        tn_value member = tn_get(events->echo, echoed[i].name);
        made = tn_set_take(made, echoed[i].name,
                           member != NULL ? tn_retain(member)
                                          : tn_from_json(echoed[i].otherwise, strlen(echoed[i].otherwise)));
    }
    return made;
}
