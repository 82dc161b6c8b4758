/*
 * document_description.c - describes a document as data.
 */
#include "host/server/document_description.h"
#include "adl/document/catalog.h"
#include "adl/document/document.h"
#include "adl/document/model_role.h"

static const char *channel_type_word(enum channel_type type) {
    switch (type) {
    case CHANNEL_LAST_VALUE: return "last_value";
    case CHANNEL_APPEND: return "append";
    case CHANNEL_REDUCE: return "reduce";
    default: return "ephemeral";
    }
}

static const char *reducer_word(const struct document_channel *channel) {
    static const char *const words[] = {
        [REDUCER_SUM] = "sum",     [REDUCER_MAX] = "max",     [REDUCER_MIN] = "min",
        [REDUCER_MERGE] = "merge", [REDUCER_UNION] = "union", [REDUCER_MESSAGES] = "messages"};
    if (channel->reducer == REDUCER_COMPONENT)
        return channel->reducer_component ? channel->reducer_component->id : NULL;
    return words[channel->reducer];
}

static tn_value channels_description(const struct document *document) {
    tn_value channels = value_array_reserve(document->channel_count);
    for (uint32_t i = 0; i < document->channel_count; i++) {
        const struct document_channel *channel = &document->channels[i];
        if (channel->implicit) continue;
        tn_value shown = value_set_take(value_object_reserve(3), "name", value_ref(channel->name));
        shown = value_set_take(shown, "type", value_text(channel_type_word(channel->type)));
        const char *reducer = channel->type == CHANNEL_REDUCE ? reducer_word(channel) : NULL;
        if (reducer) shown = value_set_take(shown, "reducer", value_text(reducer));
        channels = value_push_take(channels, shown);
    }
    return channels;
}

/* `PROVIDER:MODEL`, or the provider of a binding with options, or that of the first one of several; borrowed. */
static tn_value binding_name(tn_value binding) {
    binding = model_role_first(binding);
    if (value_is(binding, TN_OBJECT)) binding = value_get(binding, "provider");
    return binding && value_is(binding, TN_STRING) ? binding : NULL;
}

static tn_value roles_description(const struct document *document) {
    tn_value roles = value_object_reserve(document->model_count);
    for (uint32_t i = 0; i < document->model_count; i++) {
        tn_value name = binding_name(document->models[i].binding);
        roles = value_set_key_take(roles, value_ref(document->models[i].role), name ? value_ref(name) : value_text(""));
    }
    return roles;
}

tn_value document_description(const struct document *document) {
    tn_value shown = value_set_take(value_object_reserve(6), "name", value_ref(document->name));
    if (document->description) shown = value_set_take(shown, "description", value_ref(document->description));
    if (document->input_value) shown = value_set_take(shown, "input", value_ref(document->input_value));
    if (document->output_value) shown = value_set_take(shown, "output", value_ref(document->output_value));
    shown = value_set_take(shown, "channels", channels_description(document));
    return value_set_take(shown, "roles", roles_description(document));
}
