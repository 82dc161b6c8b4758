/*
 * settings.h - the options of a store, and the connection parameters that follow from them.
 *
 * A password is never part of a message: settings_scrub removes it from every text of libpq.
 */
#ifndef TENON_PLUGINS_POSTGRES_SETTINGS_H
#define TENON_PLUGINS_POSTGRES_SETTINGS_H

#include <libpq-fe.h>
#include <tenon/store/base.h>

#define SETTINGS_SCHEMA_MAX  63 /* bytes of a name in PostgreSQL */
#define SETTINGS_PARAMETERS  20
#define SETTINGS_MESSAGE_MAX 400

enum settings_pooler { POOLER_AUTO, POOLER_NONE, POOLER_SESSION };

struct settings {
    const char *keywords[SETTINGS_PARAMETERS], *values[SETTINGS_PARAMETERS]; /* for PQconnectStartParams */
    const char *password;    /* the option, or that of the url; or NULL */
    const char *schema;      /* as in the options */
    const char *schema_sql;  /* quoted: "tenon" */
    const char *schema_text; /* as an SQL string: 'tenon' */
    const char *sync;
    int64_t busy_ms, timeout_ms, reconnect_ms;
    bool read_only, host_clock;
    enum settings_pooler pooler;
};

/* Everything is allocated in the arena or borrowed from `options`. */
tn_value settings_read(tn_value options, struct tn_arena *arena, struct settings *out);
/* Copies a text of libpq to `out`, without the password, as one line. Returns out. */
const char *settings_scrub(const struct settings *settings, const char *text, char out[SETTINGS_MESSAGE_MAX]);

#endif
