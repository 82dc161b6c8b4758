/*
 * secrets.c - the list of fetched secrets, and the search for them.
 *
 * secrets_search.c finds all of them at once; its tables are built when they are first needed after a change. The list
 * of named secrets is short and only grows. The list of texts that plugins sent is bounded; the text that was sent
 * least recently is removed. The lock is needed because any thread scrubs log lines. A fetch belongs to its thread
 * until the thread posts it to the loop. A secret has at most one fetch.
 */
#include "host/base/secrets/secrets.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/environment.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets_search.h"
#include "host/base/secrets/secrets_stream.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SCRUB_DEPTH_MAX 300 /* nesting of a value; more than the JSON reader allows */

struct secret {
    struct secret *next;
    char *name; /* NULL for a text that a plugin sent */
    char *text; /* NULL if it is not known yet */
    size_t length;
    int64_t fetched_ms;
    bool doubted;               /* a server rejected it */
    bool fetched;               /* false if it is only known from the configuration of a plugin */
    struct secret_fetch *fetch; /* running, or NULL */
    struct secrets_waiter *waiters;
};

/* A thread that runs the command of a secret. */
struct secret_fetch {
    struct loop_work work; /* posted when the command has ended */
    struct secrets *secrets;
    struct secret *secret;
    const char *name; /* the secret's */
    pthread_t thread;
    bool joined;
    int32_t status;
    tn_value text;
    struct error error;
};

struct secrets {
    const struct config *config;
    struct loop *loop;
    struct secret *first; /* written by the loop under the lock */
    struct secret *sent;  /* the same; most recent first */
    uint32_t sent_count;
    struct {
        struct secret_search search;
        bool current; /* it contains all secrets */
    } searches[2];    /* by the least length of a secret: SECRETS_SCRUB_MIN, SECRETS_RESULT_MIN; under the lock */
    struct secrets_stream *streams; /* only the loop uses it */
    pthread_mutex_t lock;
    int stop; /* an eventfd that cancels all fetches; -1 if it could not be created */
};

struct secrets *secrets_new(const struct config *config, struct loop *loop) {
    struct secrets *secrets = mem_zalloc(sizeof *secrets);
    secrets->config = config;
    secrets->loop = loop;
    secrets->stop = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&secrets->lock, NULL);
    return secrets;
}

static void secret_wipe(struct secret *secret) {
    if (secret->text) explicit_bzero(secret->text, secret->length);
    mem_free(secret->text);
    secret->text = NULL;
}

static void secret_free(struct secret *secret) {
    secret_wipe(secret);
    mem_free(secret->name);
    mem_free(secret);
}

static void secret_free_list(struct secret *first) {
    for (struct secret *secret = first, *next; secret; secret = next) {
        next = secret->next;
        secret_free(secret);
    }
}

void secrets_free(struct secrets *secrets) {
    if (!secrets) return;
    while (secrets->streams) secrets_stream_remove(secrets, secrets->streams->owner);
    secret_free_list(secrets->first);
    secret_free_list(secrets->sent);
    for (size_t i = 0; i < 2; i++) secret_search_finish(&secrets->searches[i].search);
    if (secrets->loop) loop_set_secrets(secrets->loop, NULL);
    pthread_mutex_destroy(&secrets->lock);
    if (secrets->stop >= 0) (void)close(secrets->stop);
    mem_free(secrets);
}

/* ---- The list ---- */

/* Requires the lock. From now on, the results of components are searched, too. */
static void secret_set_text(struct secrets *secrets, struct secret *secret, const char *text, size_t length) {
    secret_wipe(secret);
    secret->text = mem_text_n(text, length);
    secret->length = length;
    secrets->searches[0].current = secrets->searches[1].current = false;
    if (secrets->loop) loop_set_secrets(secrets->loop, secrets);
}

static struct secret *secret_lookup(const struct secrets *secrets, const char *name) {
    struct secret *secret = secrets->first;
    while (secret && strcmp(secret->name, name) != 0) secret = secret->next;
    return secret;
}

/* A new secret has no text yet. */
static struct secret *secret_lookup_or_add(struct secrets *secrets, const char *name) {
    struct secret *secret = secret_lookup(secrets, name);
    if (secret) return secret;
    secret = mem_zalloc(sizeof *secret);
    secret->name = mem_text(name);
    pthread_mutex_lock(&secrets->lock);
    secret->next = secrets->first;
    secrets->first = secret;
    pthread_mutex_unlock(&secrets->lock);
    return secret;
}

static struct secret *secret_store_text(struct secrets *secrets, const char *name, tn_value text) {
    struct secret *secret = secret_lookup_or_add(secrets, name);
    size_t length;
    const char *chars = value_chars(text, &length);
    environment_hide_memory();
    pthread_mutex_lock(&secrets->lock);
    secret_set_text(secrets, secret, chars, length);
    pthread_mutex_unlock(&secrets->lock);
    return secret;
}

static void secret_store_fetched(struct secrets *secrets, const char *name, tn_value text, int64_t now_ms) {
    struct secret *secret = secret_store_text(secrets, name, text);
    secret->fetched = true;
    secret->doubted = false;
    secret->fetched_ms = now_ms;
}

static bool secret_is_current(const struct secret *secret, int64_t now_ms) {
    return secret && secret->fetched && !(secret->doubted && now_ms - secret->fetched_ms >= SECRETS_AGAIN_MS);
}

int32_t secrets_get(struct secrets *secrets, const char *name, int64_t now_ms, tn_value *out, struct error *error) {
    const struct secret *secret = secret_lookup(secrets, name);
    if (secret_is_current(secret, now_ms)) {
        *out = value_text_n(secret->text, secret->length);
        return TN_OK;
    }
    int32_t status = config_secret(secrets->config, name, -1, out, error);
    if (status == TN_OK) secret_store_fetched(secrets, name, *out, now_ms);
    return status;
}

/* ---- Commands ---- */

static void *secret_fetch_thread(void *argument) {
    struct secret_fetch *fetch = argument;
    fetch->status =
        config_secret(fetch->secrets->config, fetch->name, fetch->secrets->stop, &fetch->text, &fetch->error);
    loop_post(fetch->secrets->loop, &fetch->work);
    return NULL;
}

static void secret_on_fetched(struct loop_work *work) {
    struct secret_fetch *fetch = CONTAINER_OF(work, struct secret_fetch, work);
    struct secrets *secrets = fetch->secrets;
    struct secret *secret = fetch->secret;
    struct secrets_waiter *waiters = secret->waiters;
    if (!fetch->joined) pthread_join(fetch->thread, NULL);
    loop_release(secrets->loop);
    if (fetch->status == TN_OK) secret_store_fetched(secrets, secret->name, fetch->text, loop_now_ms(secrets->loop));
    secret->fetch = NULL;
    secret->waiters = NULL;
    for (struct secrets_waiter *waiter = waiters; waiter; waiter = waiter->next) waiter->list = &waiters;
    while (waiters) {
        struct secrets_waiter *waiter = waiters;
        secrets_wait_cancel(waiter);
        waiter->ready(waiter, fetch->status == TN_OK ? NULL : &fetch->error);
    }
    value_unref(fetch->text);
    error_finish(&fetch->error);
    mem_free(fetch);
}

/* Returns false if no thread can be started. Then secrets_get blocks the loop. */
static bool secret_fetch_start(struct secrets *secrets, const char *name) {
    struct secret *secret = secret_lookup_or_add(secrets, name);
    if (secret->fetch) return true;
    struct secret_fetch *fetch = mem_zalloc(sizeof *fetch);
    *fetch = (struct secret_fetch){
        .work = {.run = secret_on_fetched}, .secrets = secrets, .secret = secret, .name = secret->name};
    loop_hold(secrets->loop);
    if (pthread_create(&fetch->thread, NULL, secret_fetch_thread, fetch) == 0) {
        secret->fetch = fetch;
        return true;
    }
    loop_release(secrets->loop);
    mem_free(fetch);
    return false;
}

bool secrets_wait(struct secrets *secrets, const char *name, int64_t now_ms, struct secrets_waiter *waiter) {
    assert(!waiter->list);
    if (secret_is_current(secret_lookup(secrets, name), now_ms) || !config_secret_waits(secrets->config, name))
        return false;
    if (!secret_fetch_start(secrets, name)) return false;
    struct secret *secret = secret_lookup(secrets, name);
    struct secrets_waiter **at = &secret->waiters;
    while (*at) at = &(*at)->next;
    *at = waiter;
    waiter->next = NULL;
    waiter->list = &secret->waiters;
    return true;
}

void secrets_wait_cancel(struct secrets_waiter *waiter) {
    if (!waiter->list) return;
    struct secrets_waiter **at = waiter->list;
    while (*at != waiter) at = &(*at)->next;
    *at = waiter->next;
    waiter->list = NULL;
}

void secrets_close(struct secrets *secrets) {
    bool any = false;
    (void)eventfd_write(secrets->stop, 1);
    for (const struct secret *secret = secrets->first; secret; secret = secret->next) {
        assert(!secret->waiters);
        if (!secret->fetch) continue;
        pthread_join(secret->fetch->thread, NULL); /* it posts its end before */
        secret->fetch->joined = any = true;
    }
    if (any) loop_run_posted(secrets->loop);
}

bool secrets_absent(const struct secrets *secrets, const char *name) {
    return config_secret_absent(secrets->config, name);
}

void secrets_invalidate(struct secrets *secrets, const char *name) {
    struct secret *secret = secret_lookup(secrets, name);
    if (secret) secret->doubted = true;
}

void secrets_learn(struct secrets *secrets, tn_value section, tn_value revealed) {
    tn_value name = value_count(section) == 1 ? value_get(section, "secret") : NULL;
    if (value_is(name, TN_STRING) && value_is(revealed, TN_STRING)) {
        if (!secret_lookup(secrets, value_chars(name, NULL)))
            secret_store_text(secrets, value_chars(name, NULL), revealed);
        return;
    }
    bool object = value_is(section, TN_OBJECT);
    if (section == revealed || value_kind(section) != value_kind(revealed) || (!object && !value_is(section, TN_ARRAY)))
        return;
    for (size_t i = 0; i < value_count(section) && i < value_count(revealed); i++)
        secrets_learn(secrets, object ? value_value_at(section, i) : value_at(section, i),
                      object ? value_value_at(revealed, i) : value_at(revealed, i));
}

/* The link to the entry with this text or, if the list is full, to the oldest; else to the end. Requires the lock. */
static struct secret **secret_sent_place(struct secrets *secrets, const char *text, size_t length, bool *known) {
    struct secret **at = &secrets->sent, **last = at;
    for (*known = false; *at; at = &(*at)->next) {
        *known = (*at)->length == length && memcmp((*at)->text, text, length) == 0;
        if (*known) return at;
        last = at;
    }
    return secrets->sent_count == SECRETS_SENT_MAX ? last : at;
}

void secrets_learn_sent(struct secrets *secrets, const char *text, size_t length) {
    bool known;
    if (length < SECRETS_SENT_MIN) return;
    pthread_mutex_lock(&secrets->lock);
    struct secret **at = secret_sent_place(secrets, text, length, &known), *secret = *at;
    if (secret)
        *at = secret->next;
    else
        secrets->sent_count++;
    if (!secret) secret = mem_zalloc(sizeof *secret);
    if (!known) secret_set_text(secrets, secret, text, length); /* else the tables of the search stay valid */
    secret->next = secrets->sent;
    secrets->sent = secret;
    pthread_mutex_unlock(&secrets->lock);
}

/* ---- The search ---- */

void secrets_put_name(struct buffer *out, const char *name) {
    if (name)
        buffer_format(out, "{secret:%s}", name);
    else
        buffer_text(out, "{redacted}");
}

/* Requires the lock. Secrets with a name come first, so that a match is reported with its name. */
static const struct secret_search *secrets_search(struct secrets *secrets, size_t min) {
    size_t which = min > SECRETS_SCRUB_MIN ? 1 : 0;
    struct secret_search *search = &secrets->searches[which].search;
    if (secrets->searches[which].current) return search;
    secret_search_finish(search);
    secret_search_begin(search, which ? SECRETS_RESULT_MIN : SECRETS_SCRUB_MIN);
    for (const struct secret *secret = secrets->first; secret; secret = secret->next)
        if (secret->text) secret_search_add_forms(search, secret, secret->text, secret->length);
    for (const struct secret *secret = secrets->sent; secret; secret = secret->next)
        secret_search_add_forms(search, secret, secret->text, secret->length);
    secret_search_complete(search);
    secrets->searches[which].current = true;
    return search;
}

/* Returns false, and writes nothing, if the text contains no secret. */
static bool secret_search_replace_all(const struct secret_search *search, const char *text, size_t length,
                                      struct buffer *out) {
    size_t at = 0, done = 0;
    struct secret_match match;
    while ((match = secret_search_next(search, text, length, &at)).secret) {
        buffer_append(out, text + done, at - done);
        secrets_put_name(out, match.secret->name);
        done = at += match.length;
    }
    if (!done) return false;
    buffer_append(out, text + done, length - done);
    return true;
}

static tn_value scrub_text(const struct secret_search *search, tn_value value) {
    struct buffer out;
    size_t length;
    bool bytes = value_is(value, TN_BYTES);
    const char *chars = bytes ? value_data(value, &length) : value_chars(value, &length);
    tn_value result = NULL;
    if (length < search->window) return value_ref(value);
    buffer_init(&out, SIZE_MAX);
    if (secret_search_replace_all(search, chars, length, &out))
        result = bytes ? value_bytes(out.data, out.length) : value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result ? result : value_ref(value);
}

static tn_value scrub_value(const struct secret_search *search, tn_value value, int depth);

static tn_value scrub_object(const struct secret_search *search, tn_value value, int depth) {
    tn_value all = value_ref(value);
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value key = value_key_at(value, i), item = value_value_at(value, i);
        tn_value safe_key = scrub_text(search, key), safe = scrub_value(search, item, depth);
        if (safe_key != key) all = value_remove_take(all, value_ref(key));
        if (safe_key != key || safe != item)
            all = value_set_key_take(all, safe_key, safe);
        else {
            value_unref(safe_key);
            value_unref(safe);
        }
    }
    return all;
}

static tn_value scrub_array(const struct secret_search *search, tn_value value, int depth) {
    tn_value all = value_ref(value);
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = value_at(value, i), safe = scrub_value(search, item, depth);
        if (safe == item)
            value_unref(safe);
        else
            all = value_replace_take(all, i, safe);
    }
    return all;
}

static tn_value scrub_value(const struct secret_search *search, tn_value value, int depth) {
    switch (value_kind(value)) {
    case TN_STRING:
    case TN_BYTES: return scrub_text(search, value);
    case TN_OBJECT:
    case TN_ARRAY:
        if (depth == SCRUB_DEPTH_MAX) return value_null(); /* never return text that was not searched */
        return value_is(value, TN_OBJECT) ? scrub_object(search, value, depth + 1)
                                          : scrub_array(search, value, depth + 1);
    default: return value_ref(value);
    }
}

tn_value secrets_scrub(struct secrets *secrets, tn_value value, size_t min) {
    if (!secrets->first && !secrets->sent) return value_ref(value);
    pthread_mutex_lock(&secrets->lock);
    const struct secret_search *search = secrets_search(secrets, min);
    tn_value safe = search->count ? scrub_value(search, value, 0) : value_ref(value);
    pthread_mutex_unlock(&secrets->lock);
    return safe;
}

void secrets_scrub_error(struct secrets *secrets, struct error *error) {
    if (!secrets || !error || !error->code) return;
    tn_value value = error_to_value(error), safe = secrets_scrub(secrets, value, SECRETS_RESULT_MIN);
    if (safe != value) {
        struct span span = error->span;
        error_finish(error);
        error_from_value(error, safe);
        error->span = span;
    }
    value_unref(value);
    value_unref(safe);
}

bool secrets_next(struct secrets *secrets, const char *text, size_t length, size_t min, size_t *at, size_t *size,
                  const char **name) {
    pthread_mutex_lock(&secrets->lock);
    struct secret_match match = secret_search_next(secrets_search(secrets, min), text, length, at);
    pthread_mutex_unlock(&secrets->lock);
    if (!match.secret) return false;
    *size = match.length;
    *name = match.secret->name;
    return true;
}

size_t secrets_open_end(struct secrets *secrets, const char *text, size_t length, size_t min) {
    pthread_mutex_lock(&secrets->lock);
    size_t size = secret_search_open_end(secrets_search(secrets, min), text, length);
    pthread_mutex_unlock(&secrets->lock);
    return size;
}

struct secrets_stream **secrets_streams(struct secrets *secrets) {
    return &secrets->streams;
}

char *secrets_scrub_line(struct secrets *secrets, const char *line) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    pthread_mutex_lock(&secrets->lock);
    bool found = secret_search_replace_all(secrets_search(secrets, SECRETS_SCRUB_MIN), line, strlen(line), &out);
    pthread_mutex_unlock(&secrets->lock);
    char *safe = found ? buffer_detach(&out, NULL) : NULL;
    buffer_finish(&out);
    return safe;
}
