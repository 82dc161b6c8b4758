/*
 * model_listing.h - what models a host has: providers, and the roles that tenon.yaml binds, without secrets.
 *
 * In a binding, texts are replaced by "(hidden)" if the schema of the provider declares the option as a secret, or if
 * the option has a name that secrets usually have (`api_key`). {secret: NAME} is kept: it is only a name.
 *
 *     tn_value roles = model_list_roles(engine);       // {"default": "openai:gpt-4o"}
 *     value_unref(roles);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_LISTING_H
#define TENON_HOST_ENGINE_MODEL_MODEL_LISTING_H

#include "adl/value/value.h"

struct engine;

/* [{provider, title, plugin}] in the order of the catalog; a new reference. */
tn_value model_list_providers(const struct engine *engine);
/* {role: binding}, those of tenon.yaml and of --model; a new reference. */
tn_value model_list_roles(const struct engine *engine);

#endif
