/*
 * jwt.c - entry of the plugin: checks of tokens, which wait if the keys of the issuer must be fetched.
 *
 *   check ─▶ token_read ─▶ the issuer of `iss` ─▶ token_check ─▶ issuer_verify ─▶ token_identity
 *                                                                  │ unknown key
 *                                                                  └─▶ waits for issuer_fetch, and again, once
 */
#include "issuer.h"
#include <tenon/authenticator.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

/* A check that waits. */
struct check {
    struct check *next;
    uint64_t number;
    tn_authenticator_handler handler;
    void *user;
    const struct issuer *issuer;
    bool ready; /* the fetch that it waits for has ended */
    uint64_t length;
    char text[];
};

struct plugin {
    tn_plugin base;
    struct issuer issuers[ISSUERS_MAX];
    size_t count;
    struct check *checks; /* the oldest first */
    uint64_t last;
};

/* ---- Checks ---- */

static struct issuer *find_issuer(struct plugin *plugin, const char *name) {
    for (size_t i = 0; i < plugin->count; i++)
        if (strcmp(plugin->issuers[i].name, name) == 0) return &plugin->issuers[i];
    return NULL;
}

/* Everything before the signature: cheap, and without the keys. */
static bool check_claims(const struct token *token, const struct issuer *issuer, struct refusal *refusal) {
    if (issuer == NULL)
        *refusal = (struct refusal){"NOT_FOUND", "the token is of another issuer"};
    else if (!key_algorithm_is_known(token->alg))
        *refusal = (struct refusal){"AUTH", "the `alg` of the token is not supported"};
    else
        return token_check(token, issuer->rules, tn.core->wall_ms(tn.host) / 1000, refusal);
    return false;
}

/* The identity; or NULL with *refusal; or NULL with *wait, if the keys should be fetched first. */
static tn_value check_token(struct plugin *plugin, const char *text, size_t length, struct issuer **wait,
                            struct refusal *refusal) {
    struct token token;
    tn_value identity = NULL;
    struct issuer *issuer = NULL;
    *wait = NULL;
    bool good = token_read(&token, text, length, refusal);
    if (good) issuer = find_issuer(plugin, token.issuer);
    enum key_result result = good && check_claims(&token, issuer, refusal) ? issuer_verify(issuer, &token) : KEY_WRONG;
    if (result == KEY_VALID)
        identity = token_identity(&token, issuer->rules, refusal);
    else if (result == KEY_UNKNOWN && issuer_can_fetch(issuer))
        *wait = issuer;
    else if (result == KEY_UNKNOWN && issuer->keys == NULL)
        *refusal = (struct refusal){"UNAVAILABLE", "the keys of the issuer cannot be fetched"};
    else if (result == KEY_UNKNOWN)
        *refusal = (struct refusal){"AUTH", "the issuer has no key with this `kid` for this `alg`"};
    else if (refusal->code == NULL)
        *refusal = (struct refusal){"AUTH", "the signature is wrong"};
    token_finish(&token);
    return identity;
}

static void report_take(tn_authenticator_handler handler, void *user, uint64_t number, tn_value identity,
                        const struct refusal *refusal) {
    tn_value error = identity == NULL ? tn_error(refusal->code, refusal->message) : NULL;
    handler(user, number, identity, error);
    tn_release(identity);
    tn_release(error);
}

static int32_t wait_for(struct plugin *plugin, const char *text, uint64_t length, struct issuer *issuer,
                        tn_authenticator_handler handler, void *user, uint64_t number) {
    struct check *check = tn.core->alloc(tn.host, sizeof *check + length);
    struct check **last = &plugin->checks;
    if (check == NULL) return TN_NO_MEMORY;
    *check = (struct check){.number = number, .handler = handler, .user = user, .issuer = issuer, .length = length};
    memcpy(check->text, text, length);
    while (*last != NULL) last = &(*last)->next;
    *last = check;
    issuer_fetch(issuer);
    return TN_OK;
}

static void check_free(struct check *check) {
    explicit_bzero(check->text, check->length);
    tn.core->release(tn.host, check);
}

/* The keys were fetched, or could not be. A handler can start and cancel checks. */
static void on_fetched(void *user, struct issuer *issuer) {
    struct plugin *plugin = user;
    for (struct check *check = plugin->checks; check != NULL; check = check->next)
        check->ready |= check->issuer == issuer;
    for (;;) {
        struct check **link = &plugin->checks;
        while (*link != NULL && !((*link)->ready && (*link)->issuer == issuer)) link = &(*link)->next;
        struct check *check = *link;
        if (check == NULL) return;
        *link = check->next;
        struct issuer *wait;
        struct refusal refusal = {NULL, NULL};
        tn_value identity = check_token(plugin, check->text, check->length, &wait, &refusal);
        if (wait != NULL) refusal = (struct refusal){"UNAVAILABLE", "the keys of the issuer have changed meanwhile"};
        report_take(check->handler, check->user, check->number, identity, &refusal);
        check_free(check);
    }
}

static int32_t TN_ABI jwt_check(void *self, const char *token, uint64_t length, tn_authenticator_handler handler,
                                void *user, uint64_t *number) {
    struct plugin *plugin = self;
    struct issuer *wait;
    struct refusal refusal = {NULL, NULL};
    *number = ++plugin->last;
    tn_value identity = check_token(plugin, token, length, &wait, &refusal);
    if (wait != NULL) return wait_for(plugin, token, length, wait, handler, user, *number);
    report_take(handler, user, *number, identity, &refusal);
    return TN_OK;
}

static int32_t TN_ABI jwt_cancel(void *self, uint64_t number) {
    struct plugin *plugin = self;
    for (struct check **link = &plugin->checks; *link != NULL; link = &(*link)->next) {
        struct check *check = *link;
        if (check->number != number) continue;
        *link = check->next;
        check_free(check);
        return TN_OK;
    }
    return TN_STALE;
}

static tn_value TN_ABI jwt_issuers(void *self) {
    const struct plugin *plugin = self;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (size_t i = 0; i < plugin->count; i++) tn_put_text(builder, NULL, plugin->issuers[i].name);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- Life ---- */

static void jwt_close(struct plugin *plugin) {
    while (plugin->checks != NULL) (void)jwt_cancel(plugin, plugin->checks->number);
    for (size_t i = 0; i < plugin->count; i++) issuer_close(&plugin->issuers[i]);
    plugin->count = 0;
}

static int32_t add_issuer(struct plugin *plugin, const tn_http_1 *http, tn_value rules) {
    char message[600];
    struct issuer *issuer = &plugin->issuers[plugin->count];
    bool known = find_issuer(plugin, tn_get_text(rules, "issuer", "")) != NULL;
    *issuer = (struct issuer){.http = http, .fetched = on_fetched, .user = plugin};
    plugin->count++;
    if (issuer_open(issuer, rules) && !known) return TN_OK;
    (void)snprintf(message, sizeof message,
                   known ? "plugins.config.tenon.jwt.issuers: %.400s is in the list twice"
                         : "plugins.config.tenon.jwt.issuers: %.400s: expected addresses with https, or with http on "
                           "this machine",
                   issuer->name);
    return tn_refuse("INVALID_CONFIG", message);
}

static int32_t TN_ABI jwt_init(void *self, tn_value config) {
    struct plugin *plugin = self;
    const tn_http_1 *http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof(tn_http_1));
    tn_value issuers = tn_get(config, "issuers");
    int32_t status = http != NULL ? TN_OK : TN_UNSUPPORTED;
    for (uint64_t i = 0; status == TN_OK && i < tn.value->count(issuers) && i < ISSUERS_MAX; i++)
        status = add_issuer(plugin, http, tn.value->at(issuers, i));
    if (status != TN_OK) jwt_close(plugin);
    return status;
}

static void TN_ABI jwt_deinit(void *self) { jwt_close(self); }

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), jwt_init, NULL, jwt_deinit};
static const tn_authenticator_draft authenticator = {sizeof(tn_authenticator_draft), jwt_check, jwt_cancel,
                                                     jwt_issuers};

static const void *TN_ABI jwt_get(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_AUTHENTICATOR_DRAFT) == 0) return &authenticator;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static struct plugin plugin = {.base = {sizeof(tn_plugin), &plugin, jwt_get}};
    return tn_easy_entry(host) != NULL ? &plugin.base : NULL; /* also fills `tn` */
}
