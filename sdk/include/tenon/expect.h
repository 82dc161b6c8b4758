/*
 * tenon/expect.h - draft: components that will come, for plugins whose components are somebody else's to tell.
 *
 * A plugin that adds components at run time (tenon/registry.h) may have to ask for them first: a server for its tools,
 * say. Until it has an answer a name of one of them leads nowhere. With this, whoever looks for it waits.
 */
#ifndef TENON_EXPECT_H
#define TENON_EXPECT_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_EXPECT_DRAFT "tenon.expect/1-draft.1"
/* From the host. */
typedef struct tn_expect_draft {
    uint32_t size;
    uint32_t reserved;
    /*
     * [loop] more: 1: this plugin will add components soon, of the kinds that its manifest has under `dynamic`. Until
     * it says 0, whoever asks for one of these that is not there waits until it is, whoever asks for all waits for all,
     * a minute at most; but nobody does so from inside a task. Where it says 1 in quiesce, the host lets time pass
     * until it says 0, for what it has to tell others before it ends: a second or two, not more. TN_INVALID: neither 0
     * nor 1.
     */
    int32_t (*expect)(const tn_host *host, int32_t more);
} tn_expect_draft;

#ifdef __cplusplus
}
#endif
#endif
