/*
 * script.h - the script of a scripted model: reads its replies and rules once, and chooses the reply of each call.
 *
 * A script is immutable after it was read. Every reply in it is an object {message?, usage?, finish_reason?, delay_ms?,
 * error?} with a message or an error or both. The message is in the form of <tenon/message.h>.
 *
 *     char reason[SCRIPT_REASON_MAX];
 *     if (script_init(&script, config, reason) != TN_OK) return tn_refuse("INVALID_CONFIG", reason);
 *     struct script_turn turn = {.messages = messages, .attempt = 1};
 *     tn_value reply = script_choose(&script, &turn);     // borrowed; NULL: no replies left
 *     script_finish(&script);
 */
#ifndef TENON_PLUGINS_SCRIPTED_SCRIPT_H
#define TENON_PLUGINS_SCRIPTED_SCRIPT_H

#include <regex.h>
#include <stdbool.h>
#include <tenon/message.h>
#include <tenon/util/build.h>

#define SCRIPT_REASON_MAX  320
#define SCRIPT_REPLIES_MAX 10000
#define SCRIPT_RULES_MAX   1000
#define SCRIPT_PATTERN_MAX 1000  /* bytes of a regular expression */
#define SCRIPT_SEARCH_MAX  65536 /* bytes of a text that rules search */

struct rule {
    const char *contains; /* borrowed from the script's value, or NULL */
    regex_t pattern;      /* compiled if `contains` is NULL */
    bool last;            /* search the last message instead of the last user's message */
    tn_value reply;
};

struct script {
    tn_value source; /* owns the values that the rules borrow */
    tn_value replies;
    struct rule *rules;
    uint64_t rule_count;
    uint64_t successes; /* replies without an error */
    bool cycle, by_calls;
};

/* One call of the model: the input of script_choose. */
struct script_turn {
    tn_value messages;    /* in the form of message.h */
    int64_t number;       /* number of previous calls of the instance, or of ai messages */
    int64_t attempt;      /* of the node, starting at 1 */
    tn_value input, last; /* texts of the last user's message and of the last message; may be NULL */
};

/* On failure, `reason` describes it (empty: allocation failed), and script_finish must not be called. */
int32_t script_init(struct script *script, tn_value config, char reason[SCRIPT_REASON_MAX]);
void script_finish(struct script *script);

/* Returns the reply to a turn, borrowed. NULL if all replies were used. */
tn_value script_choose(const struct script *script, const struct script_turn *turn);

#endif
