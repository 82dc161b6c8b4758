/*
 * model_options.h - the configuration of a binding's component: the row of its provider, the binding, and the caller.
 *
 *     tn_value options = model_options(engine, "groq", binding, config);
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_OPTIONS_H
#define TENON_HOST_ENGINE_MODEL_MODEL_OPTIONS_H

#include "adl/value/value.h"

struct engine;

/*
 * Returns what the component of the provider `id` is configured with; a new reference. `binding` is {provider, …};
 * `config` has the options of the caller, or is NULL. The binding wins over the caller, and both over the provider's
 * row (a preset of a plugin, or `providers` in tenon.yaml; host/plugin/registry/preset.h). Secrets of the row and of
 * the binding are left out if the base_url comes from a less trusted place and has another origin. Thread: the loop.
 */
tn_value model_options(const struct engine *engine, const char *id, tn_value binding, tn_value config);

#endif
