/*
 * unknown.h - names in tenon.yaml that nobody here has: plugins, and providers of models; and models that do not fit.
 *
 * The file may be one that several projects share, so such a name is no error; it is told, because a mistyped one does
 * nothing. Providers are told by `tenon check` alone: a role that no document uses harms nobody.
 *
 *     unknown_plugins(host, say, user);    // "plugins.isolation: there is no plugin `acme.txt`; did you mean …?"
 *     unknown_providers(host, say, user);  // "models.planner: no plugin provides the model provider `lokal`; …"
 *     status = unknown_role(host, document, &error); // "--model defualt=…: neither …; did you mean `default`?"
 *
 * What the command line names is meant for this one run, so there it is an error.
 *
 * [loop], once the plugins of the host are known.
 */
#ifndef TENON_HOST_UNKNOWN_H
#define TENON_HOST_UNKNOWN_H

#include "adl/value/error.h"

struct document;
struct host;

typedef void unknown_say(void *user, const char *message);

/* Ids under `plugins.isolation` and `plugins.config`. */
void unknown_plugins(struct host *host, unknown_say *say, void *user);
/*
 * Providers under `models`, and bindings that the schemas of theirs do not take. Plugins that add providers at run time
 * are loaded, as far as that is safe for somebody who only asks.
 */
void unknown_providers(struct host *host, unknown_say *say, void *user);
/*
 * NOT_FOUND where --model binds a role that neither tenon.yaml has nor a document that the host has read; `default`,
 * which --model without a role binds, is none of them. `document`, whose roles are offered, has been read.
 */
int32_t unknown_role(const struct host *host, const struct document *document, struct error *error);
/*
 * Rules of `tools.approval` that mean no tool, or no effect, that is known: nothing is loaded to find out. Where
 * plugins are left that may add tools, only those are told that are nearly something known.
 */
void unknown_tools(struct host *host, unknown_say *say, void *user);

#endif
