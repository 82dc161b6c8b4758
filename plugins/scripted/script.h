/*
 * script.h - what a scripted model says: its replies and rules, read once, and the choice among them.
 *
 * A script is immutable once read. Every reply in it is an object {message?, usage?, finish_reason?, delay_ms?, error?}
 * with a message or an error or both, the message in the form of <tenon/message.h>.
 *
 *     char why[SCRIPT_WHY];
 *     if (script_init(&script, config, why) != TN_OK) return tn.task->refuse(binder, "INVALID_CONFIG", why);
 *     struct turn turn = {.messages = messages, .attempt = 1};
 *     tn_value reply = script_choose(&script, &turn);     // borrowed; NULL: used up
 *     script_finish(&script);
 */
#ifndef TENON_PLUGINS_SCRIPTED_SCRIPT_H
#define TENON_PLUGINS_SCRIPTED_SCRIPT_H

#include <regex.h>
#include <stdbool.h>
#include <tenon/message.h>

#define SCRIPT_WHY         320
#define SCRIPT_REPLIES_MAX 10000
#define SCRIPT_RULES_MAX   1000
#define SCRIPT_PATTERN_MAX 1000  /* bytes of a regular expression */
#define SCRIPT_SEARCH_MAX  65536 /* bytes of a text that rules look into */

struct rule {
    const char *contains; /* of the script's value, or NULL: */
    regex_t pattern;      /* made where contains is NULL */
    bool last;            /* over the last message, not the last user's */
    tn_value reply;
};

struct script {
    tn_value source; /* what rules point into */
    tn_value replies;
    struct rule *rules;
    uint64_t rule_count;
    uint64_t successes; /* replies without an error */
    bool cycle, by_calls;
};

/* What a choice is made by. */
struct turn {
    tn_value messages;    /* in the form of message.h */
    int64_t number;       /* how many calls there were before: of the instance, or ai messages */
    int64_t attempt;      /* of the node, from 1 */
    tn_value input, last; /* the last user's text and the last message's; may be NULL */
};

/* `why` says what is wrong where it is not TN_OK; then there is nothing to finish. */
int32_t script_init(struct script *script, tn_value config, char why[SCRIPT_WHY]);
void script_finish(struct script *script);

/* The reply to a turn: borrowed; NULL where all have been given. */
tn_value script_choose(const struct script *script, const struct turn *turn);

#endif
