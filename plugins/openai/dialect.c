/*
 * dialect.c - reads the flags of a dialect once, when the model is created.
 */
#include "dialect.h"
#include <stddef.h>
#include <string.h>

/* True for servers of OpenAI, also regional ones and those on Azure. */
static bool is_own_server(const struct model *model) {
    static const char *const hosts[] = {".api.openai.com", ".openai.azure.com", ".services.ai.azure.com"};
    const char *host = strstr(model->base_url, "://");
    host = host != NULL ? host + 3 : model->base_url;
    uint64_t length = strcspn(host, ":/?#");
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        uint64_t size = strlen(hosts[i]);
        if (length > size && strncmp(host + length - size, hosts[i], size) == 0) return true;
    }
    return model->is_default_host;
}

static const struct {
    const char *name;
    size_t offset;
} flags[] = {{"stream_options", offsetof(struct openai_dialect, stream_options)},
             {"strict", offsetof(struct openai_dialect, strict)},
             {"format_name", offsetof(struct openai_dialect, format_name)},
             {"developer", offsetof(struct openai_dialect, developer)},
             {"names", offsetof(struct openai_dialect, names)},
             {"stop", offsetof(struct openai_dialect, stop)},
             {"tools", offsetof(struct openai_dialect, tools)},
             {"tool_choice", offsetof(struct openai_dialect, tool_choice)},
             {"parallel_tool_calls", offsetof(struct openai_dialect, parallel_tool_calls)},
             {"images", offsetof(struct openai_dialect, images)},
             {"files", offsetof(struct openai_dialect, files)},
             {"audio", offsetof(struct openai_dialect, audio)},
             {"extra_content", offsetof(struct openai_dialect, extra_content)},
             {"prefix", offsetof(struct openai_dialect, prefix)},
             {"strict_order", offsetof(struct openai_dialect, strict_order)}};

static const struct {
    const char *name;
    size_t offset;
} words[] = {{"structured", offsetof(struct openai_dialect, structured)},
             {"max_tokens", offsetof(struct openai_dialect, max_tokens)},
             {"seed", offsetof(struct openai_dialect, seed)},
             {"dimensions", offsetof(struct openai_dialect, dimensions)},
             {"reasoning_effort", offsetof(struct openai_dialect, reasoning_effort)},
             {"reasoning_in", offsetof(struct openai_dialect, reasoning_in)},
             {"reasoning_out", offsetof(struct openai_dialect, reasoning_out)},
             {"required", offsetof(struct openai_dialect, required)},
             {"call_ids", offsetof(struct openai_dialect, call_ids)},
             {"tool_media", offsetof(struct openai_dialect, tool_media)},
             {"media", offsetof(struct openai_dialect, media)},
             {"think", offsetof(struct openai_dialect, think)},
             {"speech", offsetof(struct openai_dialect, speech)}};

static const char *text_or_null(tn_value object, const char *name) { return tn_get_text(object, name, NULL); }

static void dialect_read(struct openai_dialect *dialect, tn_value config) {
    tn_value given = tn_get(config, "dialect"), usage = tn_get(given, "usage");
    int32_t truth = 0;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (tn.value->as_bool(tn_get(given, flags[i].name), &truth) == TN_OK)
            *(bool *)(void *)((char *)dialect + flags[i].offset) = truth != 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *word = text_or_null(given, words[i].name);
        if (word != NULL)
            *(const char **)(void *)((char *)dialect + words[i].offset) = strcmp(word, "none") == 0 ? NULL : word;
    }
    dialect->cached = text_or_null(usage, "cached");
    dialect->cache_write = text_or_null(usage, "cache_write");
    dialect->reasoning = text_or_null(usage, "reasoning");
    /* `send_reasoning` is older than dialects: true selects the usual name, false is the last word. */
    if (tn.value->as_bool(tn_get(config, "send_reasoning"), &truth) != TN_OK) return;
    if (!truth)
        dialect->reasoning_out = NULL;
    else if (dialect->reasoning_out == NULL)
        dialect->reasoning_out = "reasoning_content";
}

int32_t openai_dialect_create(struct model *model) {
    tn_value given = tn_get(model->config, "dialect");
    int32_t needs_base_url = 0;
    (void)tn.value->as_bool(tn_get(given, "needs_base_url"), &needs_base_url);
    if (needs_base_url && tn_get(model->config, "base_url") == NULL)
        return tn_refuse("INVALID_CONFIG", "this provider has no `base_url`, because each customer has another: set "
                                           "it, with the key, for example as a row of "
                                           "`providers` in tenon.yaml");
    struct openai_dialect *dialect = tn.core->alloc(tn.host, sizeof *dialect);
    if (dialect == NULL) return TN_NO_MEMORY;
    bool own = is_own_server(model), unknown = !own && tn.value->kind(given) != TN_OBJECT;
    *dialect = (struct openai_dialect){.structured = "json_schema",
                                       .max_tokens = own ? "max_completion_tokens" : "max_tokens",
                                       .seed = "seed",
                                       .dimensions = "dimensions",
                                       .reasoning_effort = "reasoning_effort",
                                       .required = "required",
                                       .call_ids = "any",
                                       .tool_media = "user",
                                       .images = true,
                                       .files = true,
                                       .audio = true,
                                       .think = own ? "never" : "start",
                                       .speech = own || unknown ? "any" : NULL,
                                       .stream_options = true,
                                       .strict = true,
                                       .format_name = true,
                                       .developer = own,
                                       .names = true,
                                       .stop = true,
                                       .tools = true,
                                       .tool_choice = true,
                                       .parallel_tool_calls = true,
                                       .extra_content = unknown,
                                       .is_own = own,
                                       .details_back = unknown,
                                       .audio_back = own || unknown};
    dialect_read(dialect, model->config);
    if (dialect->reasoning_out != NULL && strcmp(dialect->reasoning_out, "reasoning_details") == 0)
        dialect->details_back = true;
    model->provider_data = dialect;
    const char *header = text_or_null(given, "key_header");
    if (header != NULL) {
        model->key_header = header;
        model->key_prefix = "";
    }
    return TN_OK;
}

void openai_dialect_destroy(struct model *model) { tn.core->release(tn.host, model->provider_data); }
