/*
 * record.c - the data of an authorization, in memory and in its file.
 */
#include "oauth_internal.h"
#include "token_file.h"

tn_value oauth_token(const struct oauth *oauth) { return tn_get(oauth->record, "token"); }
tn_value oauth_pending(const struct oauth *oauth) { return tn_get(oauth->record, "pending"); }
const char *oauth_setting(const struct oauth *oauth, const char *name) {
    return tn_get_text(oauth->config, name, NULL);
}

void oauth_set_header(struct oauth *oauth) {
    tn_release(oauth->header);
    oauth->header = token_make_header(oauth_token(oauth), tn.core->wall_ms(tn.host));
}

/* Returns true if the token has changed. */
static bool adopt_record(struct oauth *oauth, tn_value record) { /* takes it */
    tn_value before = oauth_token(oauth), now = tn_get(record, "token");
    bool other = now != NULL && (before == NULL || !tn.value->equal(before, now));
    if (record == NULL) return false;
    tn_release(oauth->record);
    oauth->record = record;
    if (other) oauth->token_accepted = true;
    oauth_set_header(oauth);
    return other;
}

bool oauth_reload_record(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    tn_value record = oauth->file != NULL ? token_file_read(oauth->file, why, sizeof why) : NULL;
    if (record == NULL && oauth->file != NULL && *why != '\0') {
        log_format(TN_LOG_WARN, "server `%s`: %s", oauth->name, why);
        mcp_free(oauth->file);
        oauth->file = NULL;
    }
    return adopt_record(oauth, record);
}

void oauth_save_record(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    if (oauth->file == NULL || token_file_write(oauth->file, oauth->record, why, sizeof why)) return;
    log_format(TN_LOG_WARN, "server `%s`: its tokens are kept only in memory: %s", oauth->name, why);
    mcp_free(oauth->file);
    oauth->file = NULL;
}

/* Sets a member of the record; NULL removes it. Takes the value. */
void oauth_record_set_take(struct oauth *oauth, const char *name, tn_value value) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(oauth->record); i < count; i++) {
        tn_value key, member;
        if (tn.value->entry(oauth->record, i, &key, &member) != TN_OK) break;
        if (!value_is(key, name)) tn_put_key(builder, key, member);
    }
    if (value != NULL) tn_put_take(builder, name, value);
    tn.value->end(builder);
    tn_value result = tn_finish(builder);
    if (result == NULL) return;
    tn_release(oauth->record);
    oauth->record = result;
}

void oauth_set_token_take(struct oauth *oauth, tn_value token) { /* takes it */
    oauth_record_set_take(oauth, "token", token);
    oauth->token_accepted = false;
    oauth_set_header(oauth);
}

void oauth_handle_fault(struct oauth *oauth, const struct token_fault *fault) {
    if (fault->client_unknown) oauth_record_set_take(oauth, "client", NULL);
}

tn_value oauth_key(const struct oauth *oauth) { return tn_get(oauth->record, "key"); }

bool oauth_must_repeat(struct oauth *oauth, const struct fetched *answer) {
    const char *nonce = token_read_nonce(answer);
    if (nonce == NULL || oauth_key(oauth) == NULL || oauth->nonce_tried) {
        oauth->nonce_tried = false;
        return false;
    }
    mcp_free(oauth->nonce);
    oauth->nonce = copy_text(nonce);
    oauth->nonce_tried = true;
    return true;
}
