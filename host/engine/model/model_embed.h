/*
 * model_embed.h - embeddings of many texts: splits a request into batches that a service accepts.
 *
 * The callable wraps a provider's instance. Its input is {embed: [text], options?, batch?}, where `batch` is {texts?,
 * bytes?, parallel?}: the most texts and bytes of one request, and how many requests are open at once. A provider's
 * manifest can lower `texts`, with `maxItems` of `embed` in its input schema, and for some configurations with
 * `x-tenon-batches: [{if: SCHEMA, maxItems}]` beside it. The output is one {embeddings, usage}, in
 * the order of the texts, with the sum of all usages. If a batch fails, the others are cancelled, and the call fails
 * with the error of that batch; so a fallback makes all vectors again, because those of two models cannot be compared.
 *
 *     struct callable *embedder = model_embedder_new(instance, options, &side, &key);
 *     ... call it with {embed: texts}
 *     callable_unref(embedder);
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_EMBED_H
#define TENON_HOST_ENGINE_MODEL_MODEL_EMBED_H

#include "adl/value/value.h"
#include "host/engine/model/model_gate.h"

struct callable;

#define MODEL_EMBED_TEXTS_MAX   10000    /* texts of one call */
#define MODEL_EMBED_BYTES_MAX   67108864 /* bytes of all texts of one call */
#define MODEL_EMBED_NUMBERS_MAX 16777216 /* numbers of all vectors of one call */
/* Of one batch, unless `batch` or the manifest says otherwise. A token has at least one byte. */
#define MODEL_EMBED_BATCH_TEXTS     256
#define MODEL_EMBED_BATCH_TEXTS_MAX 10000
#define MODEL_EMBED_BATCH_BYTES     65536
#define MODEL_EMBED_PARALLEL        4
#define MODEL_EMBED_PARALLEL_MAX    16

/*
 * Keeps a reference to `provider`, an instance of a model component with the configuration `options`. Each request
 * passes the gate of `key`; NULL: there is none. `side` and `key` are borrowed until the embedder is freed. Returns a
 * new reference. Thread: loop.
 */
struct callable *model_embedder_new(struct callable *provider, tn_value options, struct model_gate_side *side,
                                    const struct model_key *key);

/* True if the input of a model asks for embeddings, not for a message. */
bool model_embed_is_wanted(tn_value input);

#endif
