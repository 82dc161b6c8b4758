/*
 * secrets.c - the list of secrets that have been fetched, and the search for them.
 *
 * A secret is searched for as it is, percent-encoded, and as JSON writes it. The list only grows, and is short; that of
 * what plugins sent has an end, where the one that was sent longest ago goes. The lock is for log lines, which come
 * from any thread. A fetch belongs to its thread until that has posted it to the
 * loop; there is at most one of a secret.
 */
#include "host/http/secrets.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/config/config.h"
#include "host/http/url.h"
#include "host/loop/loop.h"
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FORMS           3
#define SCRUB_DEPTH_MAX 300 /* of a value; deeper than JSON that we read */

struct secret {
    struct secret *next;
    char *name;         /* NULL: only sent */
    char *forms[FORMS]; /* NULL where it is the same as the first */
    size_t lengths[FORMS];
    int64_t fetched_ms;
    bool doubted, fetched; /* fetched: not only learnt */
    struct fetch *fetch;   /* under way, or NULL */
    struct secrets_waiter *waiters;
};

/* A command that is run for a secret. */
struct fetch {
    struct loop_work work; /* that it has ended */
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
    struct secret *first; /* changed by the loop, under the lock */
    struct secret *sent;  /* likewise; the last one first */
    uint32_t sent_count;
    pthread_mutex_t lock;
    int stop; /* an eventfd that ends every fetch; -1: there is none to be had */
};

struct secrets *secrets_new(const struct config *config, struct loop *loop) {
    struct secrets *secrets = mem_zalloc(sizeof *secrets);
    secrets->config = config;
    secrets->loop = loop;
    secrets->stop = eventfd(0, EFD_CLOEXEC);
    pthread_mutex_init(&secrets->lock, NULL);
    return secrets;
}

static void wipe(struct secret *secret) {
    for (int i = 0; i < FORMS; i++) {
        if (secret->forms[i]) explicit_bzero(secret->forms[i], secret->lengths[i]);
        mem_free(secret->forms[i]);
        secret->forms[i] = NULL;
    }
}

static void secret_free(struct secret *secret) {
    wipe(secret);
    mem_free(secret->name);
    mem_free(secret);
}

static void free_list(struct secret *first) {
    for (struct secret *secret = first, *next; secret; secret = next) {
        next = secret->next;
        secret_free(secret);
    }
}

void secrets_free(struct secrets *secrets) {
    if (!secrets) return;
    free_list(secrets->first);
    free_list(secrets->sent);
    pthread_mutex_destroy(&secrets->lock);
    if (secrets->stop >= 0) (void)close(secrets->stop);
    mem_free(secrets);
}

/* ---- The list ---- */

static void add_form(struct secret *secret, int form, struct buffer *text, size_t skip) {
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

static void set_text(struct secret *secret, const char *text, size_t length) {
    struct buffer form;
    wipe(secret);
    buffer_init(&form, SIZE_MAX);
    buffer_append(&form, text, length);
    add_form(secret, 0, &form, 0);
    buffer_init(&form, SIZE_MAX);
    url_escape(&form, text, length);
    add_form(secret, 1, &form, 0);
    buffer_init(&form, SIZE_MAX);
    json_write_string(&form, text, length);
    add_form(secret, 2, &form, 1); /* without its quotes */
}

static struct secret *find(const struct secrets *secrets, const char *name) {
    struct secret *secret = secrets->first;
    while (secret && strcmp(secret->name, name) != 0) secret = secret->next;
    return secret;
}

/* Made where it is not there, without a text. */
static struct secret *find_or_make(struct secrets *secrets, const char *name) {
    struct secret *secret = find(secrets, name);
    if (secret) return secret;
    secret = mem_zalloc(sizeof *secret);
    secret->name = mem_text(name);
    pthread_mutex_lock(&secrets->lock);
    secret->next = secrets->first;
    secrets->first = secret;
    pthread_mutex_unlock(&secrets->lock);
    return secret;
}

static struct secret *keep(struct secrets *secrets, const char *name, tn_value text) {
    struct secret *secret = find_or_make(secrets, name);
    size_t length;
    const char *chars = value_chars(text, &length);
    pthread_mutex_lock(&secrets->lock);
    set_text(secret, chars, length);
    pthread_mutex_unlock(&secrets->lock);
    return secret;
}

static void keep_fetched(struct secrets *secrets, const char *name, tn_value text, int64_t now_ms) {
    struct secret *secret = keep(secrets, name, text);
    secret->fetched = true;
    secret->doubted = false;
    secret->fetched_ms = now_ms;
}

static bool is_there(const struct secret *secret, int64_t now_ms) {
    return secret && secret->fetched && !(secret->doubted && now_ms - secret->fetched_ms >= SECRETS_AGAIN_MS);
}

int32_t secrets_get(struct secrets *secrets, const char *name, int64_t now_ms, tn_value *out, struct error *error) {
    const struct secret *secret = find(secrets, name);
    if (is_there(secret, now_ms)) {
        *out = value_text_n(secret->forms[0] ? secret->forms[0] : "", secret->lengths[0]);
        return TN_OK;
    }
    int32_t status = config_secret(secrets->config, name, -1, out, error);
    if (status == TN_OK) keep_fetched(secrets, name, *out, now_ms);
    return status;
}

/* ---- Commands ---- */

static void *run_command(void *argument) {
    struct fetch *fetch = argument;
    fetch->status =
        config_secret(fetch->secrets->config, fetch->name, fetch->secrets->stop, &fetch->text, &fetch->error);
    loop_post(fetch->secrets->loop, &fetch->work);
    return NULL;
}

static void on_fetched(struct loop_work *work) {
    struct fetch *fetch = (struct fetch *)(void *)((char *)work - offsetof(struct fetch, work));
    struct secrets *secrets = fetch->secrets;
    struct secret *secret = fetch->secret;
    struct secrets_waiter *waiters = secret->waiters;
    if (!fetch->joined) pthread_join(fetch->thread, NULL);
    loop_release(secrets->loop);
    if (fetch->status == TN_OK) keep_fetched(secrets, secret->name, fetch->text, loop_now_ms(secrets->loop));
    secret->fetch = NULL;
    secret->waiters = NULL;
    for (struct secrets_waiter *waiter = waiters; waiter; waiter = waiter->next) waiter->list = &waiters;
    while (waiters) {
        struct secrets_waiter *waiter = waiters;
        secrets_leave(waiter);
        waiter->ready(waiter, fetch->status == TN_OK ? NULL : &fetch->error);
    }
    value_unref(fetch->text);
    error_finish(&fetch->error);
    mem_free(fetch);
}

/* False: there is no thread to be had, and the loop has to wait. */
static bool begin_fetch(struct secrets *secrets, const char *name) {
    struct secret *secret = find_or_make(secrets, name);
    if (secret->fetch) return true;
    struct fetch *fetch = mem_zalloc(sizeof *fetch);
    *fetch = (struct fetch){.work = {.run = on_fetched}, .secrets = secrets, .secret = secret, .name = secret->name};
    loop_hold(secrets->loop);
    if (pthread_create(&fetch->thread, NULL, run_command, fetch) == 0) {
        secret->fetch = fetch;
        return true;
    }
    loop_release(secrets->loop);
    mem_free(fetch);
    return false;
}

bool secrets_wait(struct secrets *secrets, const char *name, int64_t now_ms, struct secrets_waiter *waiter) {
    assert(!waiter->list);
    if (is_there(find(secrets, name), now_ms) || !config_secret_waits(secrets->config, name)) return false;
    if (!begin_fetch(secrets, name)) return false;
    struct secret *secret = find(secrets, name);
    struct secrets_waiter **at = &secret->waiters;
    while (*at) at = &(*at)->next;
    *at = waiter;
    waiter->next = NULL;
    waiter->list = &secret->waiters;
    return true;
}

void secrets_leave(struct secrets_waiter *waiter) {
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
        pthread_join(secret->fetch->thread, NULL); /* it has posted its end */
        secret->fetch->joined = any = true;
    }
    if (any) loop_run_posted(secrets->loop);
}

bool secrets_absent(const struct secrets *secrets, const char *name) {
    return config_secret_absent(secrets->config, name);
}

void secrets_doubt(struct secrets *secrets, const char *name) {
    struct secret *secret = find(secrets, name);
    if (secret) secret->doubted = true;
}

void secrets_learn(struct secrets *secrets, tn_value section, tn_value revealed) {
    tn_value name = value_count(section) == 1 ? value_get(section, "secret") : NULL;
    if (value_is(name, TN_STRING) && value_is(revealed, TN_STRING)) {
        if (!find(secrets, value_chars(name, NULL))) keep(secrets, value_chars(name, NULL), revealed);
        return;
    }
    bool object = value_is(section, TN_OBJECT);
    if (section == revealed || value_kind(section) != value_kind(revealed) || (!object && !value_is(section, TN_ARRAY)))
        return;
    for (size_t i = 0; i < value_count(section) && i < value_count(revealed); i++)
        secrets_learn(secrets, object ? value_value_at(section, i) : value_at(section, i),
                      object ? value_value_at(revealed, i) : value_at(revealed, i));
}

/* Where it was sent before, or the one that has to go; under the lock. */
static struct secret *unlink_sent(struct secrets *secrets, const char *text, size_t length) {
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
    struct secret *secret = unlink_sent(secrets, text, length);
    if (!secret) secret = mem_zalloc(sizeof *secret);
    set_text(secret, text, length);
    secret->next = secrets->sent;
    secrets->sent = secret;
    secrets->sent_count++;
    pthread_mutex_unlock(&secrets->lock);
}

/* ---- The search ---- */

static const struct secret *first_of(const struct secrets *secrets) {
    return secrets->first ? secrets->first : secrets->sent;
}

/* Those with a name come first: where both would do, it is said. */
static const struct secret *after(const struct secrets *secrets, const struct secret *secret) {
    return secret->next || !secret->name ? secret->next : secrets->sent;
}

void secrets_put_name(struct buffer *out, const char *name) {
    if (name)
        buffer_format(out, "{secret:%s}", name);
    else
        buffer_text(out, "{redacted}");
}

/* The longest form of any secret that begins at `at`. */
static const struct secret *match(const struct secrets *secrets, const char *at, size_t left, size_t min,
                                  size_t *length) {
    const struct secret *best = NULL;
    *length = 0;
    for (const struct secret *secret = first_of(secrets); secret; secret = after(secrets, secret)) {
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

static bool occurs(const struct secrets *secrets, const char *text, size_t length, size_t min) {
    for (const struct secret *secret = first_of(secrets); secret; secret = after(secrets, secret)) {
        if (secret->lengths[0] < min) continue;
        for (int i = 0; i < FORMS; i++)
            if (secret->forms[i] && memmem(text, length, secret->forms[i], secret->lengths[i])) return true;
    }
    return false;
}

/* False: nothing was found, and nothing written. */
static bool replace(const struct secrets *secrets, const char *text, size_t length, size_t min, struct buffer *out) {
    if (!occurs(secrets, text, length, min)) return false;
    for (size_t i = 0, size; i < length;) {
        const struct secret *secret = match(secrets, text + i, length - i, min, &size);
        if (secret)
            secrets_put_name(out, secret->name);
        else
            buffer_char(out, text[i]);
        i += secret ? size : 1;
    }
    return true;
}

static tn_value scrub_chars(const struct secrets *secrets, tn_value value, size_t min) {
    struct buffer out;
    size_t length;
    bool bytes = value_is(value, TN_BYTES);
    const char *chars = bytes ? value_data(value, &length) : value_chars(value, &length);
    tn_value result = NULL;
    buffer_init(&out, SIZE_MAX);
    if (replace(secrets, chars, length, min, &out))
        result = bytes ? value_bytes(out.data, out.length) : value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result ? result : value_ref(value);
}

static tn_value scrub(const struct secrets *secrets, tn_value value, size_t min, int depth) {
    if (value_is(value, TN_STRING) || value_is(value, TN_BYTES)) return scrub_chars(secrets, value, min);
    bool object = value_is(value, TN_OBJECT);
    if (!object && !value_is(value, TN_ARRAY)) return value_ref(value);
    if (depth == SCRUB_DEPTH_MAX) return value_null(); /* nothing that has not been looked at */
    tn_value all = value_ref(value);
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = object ? value_value_at(value, i) : value_at(value, i);
        tn_value safe = scrub(secrets, item, min, depth + 1);
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
    return first_of(secrets) ? scrub(secrets, value, min, 0) : value_ref(value);
}

bool secrets_next(const struct secrets *secrets, const char *text, size_t length, size_t min, size_t *at, size_t *size,
                  const char **name) {
    if (!length || !occurs(secrets, text, length, min)) return false;
    for (; *at < length; (*at)++) {
        const struct secret *secret = match(secrets, text + *at, length - *at, min, size);
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
    bool found = replace(secrets, line, strlen(line), SECRETS_SCRUB_MIN, &out);
    pthread_mutex_unlock(&secrets->lock);
    char *safe = found ? buffer_detach(&out, NULL) : NULL;
    buffer_finish(&out);
    return safe;
}
