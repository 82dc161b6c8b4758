/*
 * settings.c - see settings.h.
 *
 * libpq reads the url, the service file and the environment. The plugin only adds what a host needs: it notices a
 * server that is gone (TCP keepalives and a limit for unacknowledged data), and names itself for pg_stat_activity.
 */
#include "settings.h"
#include <ctype.h>
#include <tenon/store/backend.h>

#define BUSY_MS          5000
#define TIMEOUT_MS       60000
#define RECONNECT_MS     30000
#define SETTINGS_MS_MAX  86400000
#define SETTINGS_URL_MAX 4096

static const char *const own_options[] = {"url",        "service",      "password",  "schema", "sync",  "busy_ms",
                                          "timeout_ms", "reconnect_ms", "read_only", "pooler", "clock", NULL};

/* Stores the option's text in *out, borrowed; NULL if it is absent. */
static tn_value settings_read_text(tn_value options, const char *name, uint64_t max, const char **out) {
    tn_value found = tn_get(options, name);
    struct tn_store_text text = tn_store_text_of(found);
    *out = NULL;
    if (tn.value->kind(found) <= TN_NULL) return NULL;
    if (text.data == NULL || text.length == 0 || text.length > max || memchr(text.data, '\0', text.length) != NULL)
        return tn_store_failure(
            "INVALID", "the option `%s` of the store `postgres` must be a string of 1 to %llu bytes; found %s", name,
            (unsigned long long)max, text.data != NULL ? "another string" : tn_kind_name(found));
    *out = text.data;
    return NULL;
}

static char *settings_quote(struct tn_arena *arena, const char *text, char quote) {
    char *out = tn_arena_alloc(arena, strlen(text) * 2 + 3), *at = out;
    if (out == NULL) return NULL;
    *at++ = quote;
    for (; *text != '\0'; text++) {
        if (*text == quote) *at++ = quote;
        *at++ = *text;
    }
    *at = quote;
    return out;
}

static tn_value settings_read_schema(tn_value options, struct tn_arena *arena, struct settings *out) {
    out->schema = "tenon";
    const char *given;
    tn_value why = settings_read_text(options, "schema", SETTINGS_SCHEMA_MAX, &given);
    if (why != NULL) return why;
    if (given != NULL) out->schema = given;
    if (strncmp(out->schema, "pg_", 3) == 0 || strchr(out->schema, '\\') != NULL)
        return tn_store_failure("INVALID",
                                "the option `schema` of the store `postgres`: found `%s`; expected a name without `\\` "
                                "that does not start with pg_",
                                out->schema);
    out->schema_sql = settings_quote(arena, out->schema, '"');
    out->schema_text = settings_quote(arena, out->schema, '\'');
    return out->schema_sql == NULL || out->schema_text == NULL ? tn_store_failure_memory() : NULL;
}

/* The parser of libpq repeats parts of a bad url in its message, which may be a password. So the message is not used.
 */
static tn_value settings_check_url(const char *url, struct tn_arena *arena, struct settings *out) {
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    bool copied = true;
    if (message != NULL) PQfreemem(message);
    if (options == NULL)
        return tn_store_failure(
            "INVALID", "the option `url` of the store `postgres` is not a connection string of libpq; expected "
                       "postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE or `host=… dbname=…`");
    for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
        if (strcmp(option->keyword, "password") != 0 || option->val == NULL || *option->val == '\0') continue;
        out->password = tn_arena_copy(arena, option->val, strlen(option->val));
        copied = out->password != NULL;
    }
    PQconninfoFree(options);
    return copied ? NULL : tn_store_failure_memory();
}

static void settings_add(struct settings *out, int *count, const char *keyword, const char *value) {
    if (value == NULL) return;
    out->keywords[*count] = keyword;
    out->values[(*count)++] = value;
}

static tn_value settings_read_connection(tn_value options, struct tn_arena *arena, struct settings *out) {
    const char *url, *service, *password;
    int count = 0;
    tn_value why = settings_read_text(options, "url", SETTINGS_URL_MAX, &url);
    if (why == NULL) why = settings_read_text(options, "service", SETTINGS_URL_MAX, &service);
    if (why == NULL) why = settings_read_text(options, "password", SETTINGS_URL_MAX, &password);
    if (why == NULL && url != NULL) why = settings_check_url(url, arena, out);
    if (why != NULL) return why;
    if (password != NULL) out->password = password;
    /* Later keywords override earlier ones. The defaults stand before the url, so that the url overrides them. */
    settings_add(out, &count, "connect_timeout", "10");
    settings_add(out, &count, "keepalives_idle", "15");
    settings_add(out, &count, "keepalives_interval", "5");
    settings_add(out, &count, "keepalives_count", "3");
    settings_add(out, &count, "tcp_user_timeout", "30000");
    settings_add(out, &count, "fallback_application_name", "tenon");
    settings_add(out, &count, "dbname", url);
    settings_add(out, &count, "service", service);
    settings_add(out, &count, "password", password);
    return NULL;
}

tn_value settings_read(tn_value options, struct tn_arena *arena, struct settings *out) {
    static const char *const sync_modes[] = {"full", "off", NULL}, *const clocks[] = {"database", "host", NULL},
                             *const poolers[] = {"auto", "none", "session", NULL};
    struct tn_store_text path;
    const char *clock = clocks[0], *pooler = poolers[0];
    *out = (struct settings){
        .sync = sync_modes[0], .busy_ms = BUSY_MS, .timeout_ms = TIMEOUT_MS, .reconnect_ms = RECONNECT_MS};
    tn_value why = tn_store_read_options(options, "postgres", own_options, &path);
    if (why == NULL) why = settings_read_schema(options, arena, out);
    if (why == NULL) why = settings_read_connection(options, arena, out);
    if (why == NULL) why = tn_store_read_choice(options, "postgres", "sync", sync_modes, &out->sync);
    if (why == NULL) why = tn_store_read_choice(options, "postgres", "pooler", poolers, &pooler);
    if (why == NULL) why = tn_store_read_choice(options, "postgres", "clock", clocks, &clock);
    if (why == NULL) why = tn_store_read_number(options, "postgres", "busy_ms", 1, SETTINGS_MS_MAX, &out->busy_ms);
    if (why == NULL)
        why = tn_store_read_number(options, "postgres", "timeout_ms", 1, SETTINGS_MS_MAX, &out->timeout_ms);
    if (why == NULL)
        why = tn_store_read_number(options, "postgres", "reconnect_ms", 0, SETTINGS_MS_MAX, &out->reconnect_ms);
    if (why == NULL) why = tn_store_read_bool(options, "postgres", "read_only", &out->read_only);
    out->host_clock = clock == clocks[1];
    out->pooler = pooler == poolers[0] ? POOLER_AUTO : pooler == poolers[1] ? POOLER_NONE : POOLER_SESSION;
    return why;
}

const char *settings_scrub(const struct settings *settings, const char *text, char out[SETTINGS_MESSAGE_MAX]) {
    size_t length = settings->password != NULL ? strlen(settings->password) : 0, used = 0;
    if (text == NULL) text = "";
    while (*text != '\0' && used + 4 < SETTINGS_MESSAGE_MAX) {
        if (length > 0 && strncmp(text, settings->password, length) == 0) {
            memcpy(out + used, "***", 3);
            used += 3;
            text += length;
            continue;
        }
        bool blank = isspace((unsigned char)*text) != 0;
        if (!blank || (used > 0 && out[used - 1] != ' ')) out[used++] = blank ? ' ' : *text;
        text++;
    }
    while (used > 0 && out[used - 1] == ' ') used--;
    out[used] = '\0';
    return out;
}
