/*
 * secrets.c - the list of fetched secrets, and the search for them.
 *
 * The search finds a secret in three forms: as it is, percent-encoded, and as JSON writes it. The list of named secrets
 * is short and only grows. The list of texts that plugins sent is bounded; the text that was sent least recently is
 * removed. The lock is needed because any thread scrubs log lines. A fetch belongs to its thread until the thread posts
 * it to the loop. A secret has at most one fetch.
 */
#include "host/base/secrets/secrets.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/environment.h"
#include "host/base/loop.h"
#include "host/base/url.h"
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FORMS           3
#define SCRUB_DEPTH_MAX 300 /* nesting of a value; more than the JSON reader allows */

struct secret {
    struct secret *next;
    char *name;         /* NULL for a text that a plugin sent */
    char *forms[FORMS]; /* NULL if equal to the first */
    size_t lengths[FORMS];
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
    for (int i = 0; i < FORMS; i++) {
        if (secret->forms[i]) explicit_bzero(secret->forms[i], secret->lengths[i]);
        mem_free(secret->forms[i]);
        secret->forms[i] = NULL;
    }
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
    secret_free_list(secrets->first);
    secret_free_list(secrets->sent);
    pthread_mutex_destroy(&secrets->lock);
    if (secrets->stop >= 0) (void)close(secrets->stop);
    mem_free(secrets);
}

/* ---- The list ---- */

static void secret_add_form(struct secret *secret, int form, struct buffer *text, size_t skip) {
    size_t length = text->length - 2 * skip;
    const char *plain = form > 0 ? secret->forms[0] : NULL;
    bool same = plain && length == secret->lengths[0] && memcmp(text->data + skip, plain, length) == 0;
    if (!same && length) {
        secret->forms[form] = mem_text_n(text->data + skip, length);
        secret->lengths[form] = length;
    }
    if (text->data) explicit_bzero(text->data, text->length);
    buffer_finish(text);
}

static void secret_set_text(struct secret *secret, const char *text, size_t length) {
    struct buffer form;
    secret_wipe(secret);
    buffer_init(&form, SIZE_MAX);
    buffer_append(&form, text, length);
    secret_add_form(secret, 0, &form, 0);
    buffer_init(&form, SIZE_MAX);
    url_escape(&form, text, length);
    secret_add_form(secret, 1, &form, 0);
    buffer_init(&form, SIZE_MAX);
    json_write_string(&form, text, length);
    secret_add_form(secret, 2, &form, 1); /* without the quotes */
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
    secret_set_text(secret, chars, length);
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
        *out = value_text_n(secret->forms[0] ? secret->forms[0] : "", secret->lengths[0]);
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

/* Unlinks the entry with this text or, if the list is full, the oldest. Called under the lock. */
static struct secret *secret_unlink_sent(struct secrets *secrets, const char *text, size_t length) {
    struct secret **at = &secrets->sent, **last = at;
    for (; *at; at = &(*at)->next) {
        if ((*at)->lengths[0] == length && memcmp((*at)->forms[0], text, length) == 0) break;
        last = at;
    }
    if (!*at && secrets->sent_count == SECRETS_SENT_MAX) at = last;
    struct secret *secret = *at;
    if (!secret) return NULL;
    *at = secret->next;
    secrets->sent_count--;
    return secret;
}

void secrets_learn_sent(struct secrets *secrets, const char *text, size_t length) {
    if (length < SECRETS_SENT_MIN) return;
    pthread_mutex_lock(&secrets->lock);
    struct secret *secret = secret_unlink_sent(secrets, text, length);
    if (!secret) secret = mem_zalloc(sizeof *secret);
    secret_set_text(secret, text, length);
    secret->next = secrets->sent;
    secrets->sent = secret;
    secrets->sent_count++;
    pthread_mutex_unlock(&secrets->lock);
}

/* ---- The search ---- */

static const struct secret *secret_first(const struct secrets *secrets) {
    return secrets->first ? secrets->first : secrets->sent;
}

/* Secrets with a name come first, so that a match is reported with its name. */
static const struct secret *secret_next(const struct secrets *secrets, const struct secret *secret) {
    return secret->next || !secret->name ? secret->next : secrets->sent;
}

void secrets_put_name(struct buffer *out, const char *name) {
    if (name)
        buffer_format(out, "{secret:%s}", name);
    else
        buffer_text(out, "{redacted}");
}

/* Finds the longest form of any secret that starts at `at`. */
static const struct secret *secret_match(const struct secrets *secrets, const char *at, size_t left, size_t min,
                                         size_t *length) {
    const struct secret *best = NULL;
    *length = 0;
    for (const struct secret *secret = secret_first(secrets); secret; secret = secret_next(secrets, secret)) {
        if (secret->lengths[0] < min) continue;
        for (int i = 0; i < FORMS; i++) {
            size_t size = secret->forms[i] ? secret->lengths[i] : 0;
            if (size <= *length || size > left || memcmp(at, secret->forms[i], size) != 0) continue;
            best = secret;
            *length = size;
        }
    }
    return best;
}

static bool secret_occurs(const struct secrets *secrets, const char *text, size_t length, size_t min) {
    for (const struct secret *secret = secret_first(secrets); secret; secret = secret_next(secrets, secret)) {
        if (secret->lengths[0] < min) continue;
        for (int i = 0; i < FORMS; i++)
            if (secret->forms[i] && memmem(text, length, secret->forms[i], secret->lengths[i])) return true;
    }
    return false;
}

/* Returns false, and writes nothing, if the text contains no secret. */
static bool secret_replace_all(const struct secrets *secrets, const char *text, size_t length, size_t min,
                               struct buffer *out) {
    if (!secret_occurs(secrets, text, length, min)) return false;
    for (size_t i = 0, size; i < length;) {
        const struct secret *secret = secret_match(secrets, text + i, length - i, min, &size);
        if (secret)
            secrets_put_name(out, secret->name);
        else
            buffer_char(out, text[i]);
        i += secret ? size : 1;
    }
    return true;
}

static tn_value secrets_scrub_text(const struct secrets *secrets, tn_value value, size_t min) {
    struct buffer out;
    size_t length;
    bool bytes = value_is(value, TN_BYTES);
    const char *chars = bytes ? value_data(value, &length) : value_chars(value, &length);
    tn_value result = NULL;
    buffer_init(&out, SIZE_MAX);
    if (secret_replace_all(secrets, chars, length, min, &out))
        result = bytes ? value_bytes(out.data, out.length) : value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result ? result : value_ref(value);
}

static tn_value secrets_scrub_value(const struct secrets *secrets, tn_value value, size_t min, int depth) {
    if (value_is(value, TN_STRING) || value_is(value, TN_BYTES)) return secrets_scrub_text(secrets, value, min);
    bool object = value_is(value, TN_OBJECT);
    if (!object && !value_is(value, TN_ARRAY)) return value_ref(value);
    if (depth == SCRUB_DEPTH_MAX) return value_null(); /* never return text that was not searched */
    tn_value all = value_ref(value);
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = object ? value_value_at(value, i) : value_at(value, i);
        tn_value safe = secrets_scrub_value(secrets, item, min, depth + 1);
        if (safe == item)
            value_unref(safe);
        else if (object)
            all = value_set_key_take(all, value_ref(value_key_at(value, i)), safe);
        else
            all = value_replace_take(all, i, safe);
    }
    return all;
}

tn_value secrets_scrub(struct secrets *secrets, tn_value value, size_t min) {
    return secret_first(secrets) ? secrets_scrub_value(secrets, value, min, 0) : value_ref(value);
}

bool secrets_next(const struct secrets *secrets, const char *text, size_t length, size_t min, size_t *at, size_t *size,
                  const char **name) {
    if (!length || !secret_occurs(secrets, text, length, min)) return false;
    for (; *at < length; (*at)++) {
        const struct secret *secret = secret_match(secrets, text + *at, length - *at, min, size);
        if (!secret) continue;
        *name = secret->name;
        return true;
    }
    return false;
}

char *secrets_scrub_line(struct secrets *secrets, const char *line) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    pthread_mutex_lock(&secrets->lock);
    bool found = secret_replace_all(secrets, line, strlen(line), SECRETS_SCRUB_MIN, &out);
    pthread_mutex_unlock(&secrets->lock);
    char *safe = found ? buffer_detach(&out, NULL) : NULL;
    buffer_finish(&out);
    return safe;
}
