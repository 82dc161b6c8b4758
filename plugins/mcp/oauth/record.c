/*
 * record.c - what is known of an authorization, in memory and in its file.
 */
#include "keep.h"
#include "oauth_internal.h"

tn_value oauth_token(const struct oauth *oauth) { return tn.value->get(oauth->record, "token"); }
tn_value oauth_pending(const struct oauth *oauth) { return tn.value->get(oauth->record, "pending"); }
const char *oauth_setting(const struct oauth *oauth, const char *name) {
    return tn_get_text(oauth->config, name, NULL);
}

void oauth_set_header(struct oauth *oauth) {
    tn_release(oauth->header);
    oauth->header = token_header(oauth_token(oauth), tn.core->wall_ms(tn.host));
}

/* Another token is there than was. */
static bool adopt(struct oauth *oauth, tn_value record) { /* takes it */
    tn_value before = oauth_token(oauth), now = tn.value->get(record, "token");
    bool other = now != NULL && (before == NULL || !tn.value->equal(before, now));
    if (record == NULL) return false;
    tn_release(oauth->record);
    oauth->record = record;
    if (other) oauth->proven = true;
    oauth_set_header(oauth);
    return other;
}

bool oauth_read_again(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    tn_value record = oauth->file != NULL ? keep_read(oauth->file, why, sizeof why) : NULL;
    if (record == NULL && oauth->file != NULL && *why != '\0') {
        say(TN_LOG_WARN, "server `%s`: %s", oauth->name, why);
        give(oauth->file);
        oauth->file = NULL;
    }
    return adopt(oauth, record);
}

void oauth_keep(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    if (oauth->file == NULL || keep_write(oauth->file, oauth->record, why, sizeof why)) return;
    say(TN_LOG_WARN, "server `%s`: its tokens are kept in memory alone: %s", oauth->name, why);
    give(oauth->file);
    oauth->file = NULL;
}

/* A member of the record; NULL takes it out. Takes the value. */
void oauth_note(struct oauth *oauth, const char *name, tn_value value) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(oauth->record); i < count; i++) {
        tn_value key, member;
        if (tn.value->entry(oauth->record, i, &key, &member) != TN_OK) break;
        if (!value_is(key, name)) tn_put(builder, tn_chars(key, NULL), member);
    }
    if (value != NULL) tn_put_take(builder, name, value);
    tn.value->end(builder);
    tn_value made = tn.value->finish(builder);
    if (made == NULL) return;
    tn_release(oauth->record);
    oauth->record = made;
}

void oauth_take_token(struct oauth *oauth, tn_value token) { /* takes it */
    oauth_note(oauth, "token", token);
    oauth->proven = false;
    oauth_set_header(oauth);
}

void oauth_mind(struct oauth *oauth, const struct token_fault *fault) {
    if (fault->stranger) oauth_note(oauth, "client", NULL);
}

tn_value oauth_key(const struct oauth *oauth) { return tn.value->get(oauth->record, "key"); }

bool oauth_again(struct oauth *oauth, const struct fetched *answer) {
    const char *nonce = token_nonce(answer);
    if (nonce == NULL || oauth_key(oauth) == NULL || oauth->nonce_tried) {
        oauth->nonce_tried = false;
        return false;
    }
    give(oauth->nonce);
    oauth->nonce = copy_text(nonce);
    oauth->nonce_tried = true;
    return true;
}
