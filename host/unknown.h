/*
 * unknown.h - names in tenon.yaml that nobody here has: plugins, and providers of models.
 *
 * The file may be one that several projects share, so such a name is no error; it is told, because a mistyped one does
 * nothing. Providers are told by `tenon check` alone: a role that no document uses harms nobody.
 *
 *     unknown_plugins(host, say, user);    // "plugins.isolation: there is no plugin `acme.txt`; did you mean …?"
 *     unknown_providers(host, say, user);  // "models.planner: no plugin provides the model provider `lokal`; …"
 *
 * [loop], once the plugins of the host are known.
 */
#ifndef TENON_HOST_UNKNOWN_H
#define TENON_HOST_UNKNOWN_H

struct host;

typedef void unknown_say(void *user, const char *message);

/* Ids under `plugins.isolation` and `plugins.config`. */
void unknown_plugins(struct host *host, unknown_say *say, void *user);
/*
 * Providers under `models`. Plugins that add providers at run time are loaded, as far as that is safe for somebody who
 * only asks.
 */
void unknown_providers(struct host *host, unknown_say *say, void *user);

#endif
