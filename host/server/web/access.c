/*
 * access.c - the keys of the store in memory, and the comparison of a text with all of them.
 *
 * The entries are sorted by the hash of the key's text. Only hashes are compared, so the time of a comparison says
 * nothing about the text of a key. An entry whose record did not change keeps its address when the keys are read again.
 */
#include "host/server/web/access.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/data/access/access_keys.h"
#include "host/data/access/access_secret.h"
#include "host/server/server.h"
#include "host/server/web/access_users.h"
#include <stdlib.h>
#include <string.h>

struct access_entry {
    struct access_key key;
    char name[ACCESS_NAME_MAX + 1], owner[ACCESS_NAME_MAX + 1];
    unsigned char hash[ACCESS_HASH_BYTES];
    int64_t expires_ms; /* -1: never */
    tn_value record;    /* as access_keys_load has returned it; NULL for the generated key */
    bool is_kept;       /* only inside access_replace */
};

struct access {
    struct store *store;
    struct loop *loop;
    tn_value limits;               /* of keys that have none */
    struct access_entry **entries; /* sorted by hash */
    struct access_entry **by_name; /* the same, sorted by name */
    size_t count;
    int64_t version; /* of the keys when they were read */
    struct loop_timer timer;
    struct access_poll *poll; /* the request to the store that is open; or NULL */
    bool is_warned;           /* that the store is unavailable */
    struct access_users *users;
};

/* A request to the store, which can outlive the access. */
struct access_poll {
    struct access *access; /* NULL after access_free */
};

/* ---- Entries ---- */

static bool read_scope(tn_value word, enum method_scope *scope) {
    for (int i = METHOD_READ; i <= METHOD_ADMIN; i++) {
        if (!value_text_is(word, method_scope_name((enum method_scope)i))) continue;
        *scope = (enum method_scope)i;
        return true;
    }
    return false;
}

static bool copy_name(tn_value text, char out[ACCESS_NAME_MAX + 1]) {
    size_t length = 0;
    const char *chars = value_is(text, TN_STRING) ? value_chars(text, &length) : "";
    if (!access_name_is_valid(chars, length)) return false;
    memcpy(out, chars, length);
    out[length] = '\0';
    return true;
}

/* The limits of a key, and `defaults` for those that it does not have; a new reference. */
static tn_value key_limits(tn_value defaults, tn_value own) {
    static const char *const members[] = {"requests_per_minute", "runs", "tokens_per_day", "cost_per_day"};
    tn_value limits = value_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value limit = value_get(own, members[i]);
        if (!limit) limit = value_get(defaults, members[i]);
        if (limit) limits = value_set_take(limits, members[i], value_ref(limit));
    }
    tn_value open = value_get(own, "open_requests"); /* in tenon.yaml it is that of all keys together */
    return open ? value_set_take(limits, "open_requests", value_ref(open)) : limits;
}

static void entry_free(struct access_entry *entry) {
    value_unref(entry->key.limits);
    value_unref(entry->record);
    mem_free(entry);
}

/* NULL if the record cannot be used: a key without an owner would reach everything. */
static struct access_entry *entry_new(const struct access *access, tn_value record) {
    struct access_entry *entry = mem_zalloc(sizeof *entry);
    tn_value hash = value_get(record, "hash"), owner = value_get(record, "owner"),
             expires = value_get(record, "expires_ms");
    size_t length = 0;
    const char *text = value_is(hash, TN_STRING) ? value_chars(hash, &length) : "";
    bool has_owner = owner && !value_is(owner, TN_NULL);
    bool good = copy_name(value_get(record, "name"), entry->name) && access_hash_read(text, length, entry->hash) &&
                read_scope(value_get(record, "scope"), &entry->key.scope) &&
                (has_owner ? copy_name(owner, entry->owner) : entry->key.scope == METHOD_ADMIN);
    if (!good) return mem_free(entry), NULL;
    entry->key.name = entry->name;
    entry->key.owner = has_owner ? entry->owner : NULL;
    entry->key.limits = key_limits(access->limits, value_get(record, "limits"));
    entry->expires_ms = value_is(expires, TN_INT) ? value_to_int(expires) : -1;
    entry->record = value_ref(record);
    return entry;
}

static bool entry_is_valid(const struct access *access, const struct access_entry *entry) {
    return entry->expires_ms < 0 || store_wall_ms(access->store) < entry->expires_ms;
}

/* ---- The table ---- */

/* It takes the same number of steps for every hash. */
static struct access_entry *lookup_hash(const struct access *access, const unsigned char *hash) {
    size_t low = 0;
    for (size_t left = access->count; left > 1;) {
        size_t half = left / 2;
        low += memcmp(access->entries[low + half]->hash, hash, ACCESS_HASH_BYTES) <= 0 ? half : 0;
        left -= half;
    }
    bool found = access->count && memcmp(access->entries[low]->hash, hash, ACCESS_HASH_BYTES) == 0;
    return found ? access->entries[low] : NULL;
}

static int compare_entries(const void *a, const void *b) {
    const struct access_entry *const *first = a, *const *second = b;
    return memcmp((*first)->hash, (*second)->hash, ACCESS_HASH_BYTES);
}

static int compare_names(const void *a, const void *b) {
    const struct access_entry *const *first = a, *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

static void access_sort(struct access *access) {
    qsort((void *)access->entries, access->count, sizeof *access->entries, compare_entries);
    memcpy((void *)access->by_name, (const void *)access->entries, access->count * sizeof *access->entries);
    qsort((void *)access->by_name, access->count, sizeof *access->by_name, compare_names);
}

/* The entry that the table has for this record, or a new one. NULL if the record cannot be used. */
static struct access_entry *keep_or_make(struct access *access, tn_value record) {
    unsigned char hash[ACCESS_HASH_BYTES];
    tn_value text = value_get(record, "hash");
    size_t length = 0;
    const char *chars = value_is(text, TN_STRING) ? value_chars(text, &length) : "";
    struct access_entry *before = access_hash_read(chars, length, hash) ? lookup_hash(access, hash) : NULL;
    if (!before || !before->record || !value_equal(before->record, record)) return entry_new(access, record);
    before->is_kept = true;
    return before;
}

/* Replaces the entries of the store. The generated key stays. */
static void access_replace(struct access *access, tn_value loaded) {
    tn_value records = value_get(loaded, "keys");
    /* One more, for the generated key. */
    struct access_entry **entries = mem_alloc((value_count(records) + 1) * sizeof(struct access_entry *));
    size_t count = 0;
    for (size_t i = 0; i < value_count(records) && count < ACCESS_KEYS_MAX; i++)
        if ((entries[count] = keep_or_make(access, value_at(records, i))) != NULL) count++;
    for (size_t i = 0; i < access->count; i++) {
        struct access_entry *entry = access->entries[i];
        bool is_gone = entry->record && !entry->is_kept;
        if (!entry->record) entries[count++] = entry;
        entry->is_kept = false;
        if (is_gone) entry_free(entry);
    }
    mem_free((void *)access->entries);
    mem_free((void *)access->by_name);
    access->entries = entries;
    access->by_name = mem_alloc((value_count(records) + 1) * sizeof(struct access_entry *));
    access->count = count;
    access_sort(access);
    access->version = value_to_int(value_get(loaded, "version"));
}

/* ---- Changes of the store ---- */

static void poll_on_timer(struct loop_timer *timer);

static void poll_again(struct access *access) {
    loop_timer_start(access->loop, &access->timer, ACCESS_POLL_MS, poll_on_timer);
}

static void poll_failed(struct access *access, const struct error *error) {
    if (!access->is_warned)
        log_write(LOG_WARN, "serve", "the keys cannot be read, so those that are known stay valid: %s", error->message);
    access->is_warned = true;
}

static void poll_on_loaded(void *user, int32_t status, tn_value loaded, const struct error *error) {
    struct access_poll *poll = user;
    struct access *access = poll->access;
    mem_free(poll);
    if (!access) return;
    access->poll = NULL;
    if (status == TN_OK)
        access_replace(access, loaded);
    else
        poll_failed(access, error);
    poll_again(access);
}

static void poll_on_version(void *user, int32_t status, tn_value version, const struct error *error) {
    struct access_poll *poll = user;
    struct access *access = poll->access;
    if (access && status == TN_OK && value_to_int(version) != access->version) {
        access_keys_load(access->store, poll_on_loaded, poll);
        return;
    }
    mem_free(poll);
    if (!access) return;
    access->poll = NULL;
    if (status == TN_OK)
        access->is_warned = false;
    else
        poll_failed(access, error);
    poll_again(access);
}

static void poll_on_timer(struct loop_timer *timer) {
    struct access *access = CONTAINER_OF(timer, struct access, timer);
    access->poll = mem_zalloc(sizeof *access->poll);
    access->poll->access = access;
    access_keys_version(access->store, poll_on_version, access->poll);
}

/* ---- The generated key ---- */

static char *access_generate(struct access *access) {
    char *secret = mem_alloc(ACCESS_SECRET_TEXT);
    struct access_entry *entry = mem_zalloc(sizeof *entry);
    access_secret_make(secret);
    access_secret_hash(secret, ACCESS_SECRET_LENGTH, entry->hash);
    strcpy(entry->name, ACCESS_GENERATED);
    strcpy(entry->owner, ACCESS_GENERATED_OWNER);
    entry->key = (struct access_key){entry->name, METHOD_RUN, entry->owner, key_limits(access->limits, NULL)};
    entry->expires_ms = -1;
    access->entries[access->count++] = entry; /* access_replace has left room for it */
    access_sort(access);
    return secret;
}

/* ---- Creating, freeing, looking up ---- */

struct access *access_new(struct server *server, char **generated, struct error *error) {
    struct host *host = server_host(server);
    struct store *store = host_store(host, error);
    struct store_wait wait = {.done = false};
    tn_value loaded = NULL;
    if (generated) *generated = NULL;
    if (!store) return NULL;
    access_keys_load(store, store_wait_done, &wait);
    if (store_wait_end(&wait, store_loop(store), &loaded, error) != TN_OK) return NULL;
    struct access *access = mem_zalloc(sizeof *access);
    access->store = store;
    access->loop = host_loop(host);
    tn_value limits = value_get(config_serve(host_config(host)), "limits");
    access->limits = limits ? value_ref(limits) : value_object();
    access_replace(access, loaded);
    value_unref(loaded);
    access->users =
        access_users_new(server, value_get(config_serve(host_config(host)), "authenticators"), access->limits, error);
    if (!access->users) {
        access_free(access);
        return NULL;
    }
    if (generated && access_is_empty(access)) *generated = access_generate(access);
    poll_again(access);
    return access;
}

void access_free(struct access *access) {
    if (!access) return;
    loop_timer_stop(access->loop, &access->timer);
    if (access->poll) access->poll->access = NULL;
    for (size_t i = 0; i < access->count; i++) entry_free(access->entries[i]);
    mem_free((void *)access->entries);
    mem_free((void *)access->by_name);
    access_users_free(access->users);
    value_unref(access->limits);
    mem_free(access);
}

bool access_is_empty(const struct access *access) {
    for (size_t i = 0; i < access->count; i++)
        if (entry_is_valid(access, access->entries[i])) return false;
    return access_users_is_empty(access->users);
}

tn_value access_issuers(const struct access *access) { return access_users_issuers(access->users); }

const struct access_key *access_check(const struct access *access, const char *text, size_t length) {
    unsigned char hash[ACCESS_HASH_BYTES];
    access_secret_hash(text, length, hash);
    const struct access_entry *entry = lookup_hash(access, hash);
    if (!entry) return access_users_check(access->users, hash);
    return entry_is_valid(access, entry) ? &entry->key : NULL;
}

struct access_wait *access_ask(const struct access *access, const char *text, size_t length, access_done *done,
                               void *user) {
    return access_users_ask(access->users, text, length, done, user);
}

const struct access_key *access_find_same(const struct access *access, const struct access_key *like) {
    const struct access_key *key = access_find(access, like->name);
    if (!key) return access_users_find(access->users, like);
    bool same_owner = key->owner && like->owner ? strcmp(key->owner, like->owner) == 0 : key->owner == like->owner;
    return key->scope == like->scope && same_owner ? key : NULL;
}

const struct access_key *access_find(const struct access *access, const char *name) {
    size_t low = 0, high = access->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct access_entry *entry = access->by_name[middle];
        int order = strcmp(entry->name, name);
        if (order == 0) return entry_is_valid(access, entry) ? &entry->key : NULL;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
