/*
 * model_options.c - see model_options.h.
 *
 * The caller can be a document, and a row is the operator's or a plugin's: what the caller adds is merged like a
 * binding over the rest, so that it cannot move the operator's key to another host.
 */
#include "host/engine/model/model_options.h"
#include "host/base/config/config.h"
#include "host/base/environment.h"
#include "host/engine/engine.h"
#include "host/plugin/registry/preset.h"
#include <string.h>

tn_value model_options(const struct engine *engine, const char *id, tn_value binding, tn_value config) {
    const struct component_info *info = engine->catalog.find(engine->catalog.self, "model", id, strlen(id));
    tn_value row = info ? preset_config(info) : NULL;
    tn_value own = value_remove_take(value_ref(binding), value_text("provider"));
    tn_value added = config ? value_ref(config) : value_object();
    for (size_t i = 0; i < value_count(own); i++) added = value_remove_take(added, value_ref(value_key_at(own, i)));
    if (row) config_each_reference(engine->config, row, environment_overwrite);
    tn_value bound = preset_merge(row, own), options = preset_merge(bound, added);
    value_unref(bound);
    value_unref(added);
    value_unref(own);
    return options;
}
