/*
 * gemini.h - what the files of the Gemini provider share.
 *
 * contents.c turns messages into contents, request.c makes the request around them, answer.c reads what comes back, and
 * error.c what went wrong; partial.c puts streamed arguments together, embed.c embeds, vertex.c says where a model is,
 * and token.c, credentials.c and sign.c who we are. gemini.c binds them to plugins/model.
 */
#ifndef TENON_PLUGINS_GEMINI_H
#define TENON_PLUGINS_GEMINI_H

#include "model.h"
#include "partial.h"
#include "token.h"

#define GEMINI_BASE_URL   "https://generativelanguage.googleapis.com/v1beta"
#define GEMINI_LOCATION   "asia-northeast1"
#define GEMINI_PATH_MAX   1024 /* bytes of an address: base url, project, location and model */
#define GEMINI_EMBED_MAX  100  /* texts that are embedded by one request; more are several */
#define GEMINI_REASON_MAX 64   /* bytes of the reason for a block that are shown */

/* What a configured model is: filled by gemini.c, in model->own. */
struct gemini {
    tn_value project;            /* NULL: AI Studio */
    char base[GEMINI_PATH_MAX];  /* what a method's path is put after: up to, without "/models/…" */
    char model[GEMINI_PATH_MAX]; /* "models/NAME", "publishers/google/models/NAME", … */
    struct token_source *source; /* of a project */
    bool second_key;             /* GOOGLE_API_KEY is asked for: there is no GEMINI_API_KEY */
};

/* What a call has in its `own`. */
struct gemini_call {
    /* answer.c */
    struct partial *partial; /* the arguments of the call that is being streamed, or NULL */
    int64_t call_index;      /* of the newest call; calls are numbered as they come */
    int64_t calls;
    bool signable; /* what came last is text that has no signature yet */
    bool sourced;  /* the sources are in the content */
    tn_value grounding, citations, url_context;
    /* embed.c */
    uint64_t embedded; /* texts that have been */
    tn_value vectors;  /* an array; NULL before the first */
    int64_t tokens;    /* that they were */
    /* gemini.c */
    tn_value body; /* kept until it is sent: a token may be waited for, or got anew */
    const char *method;
    tn_value header;  /* the token it was sent with */
    bool tried_again; /* with another token */
    struct token_wait wait;
    struct model_call *call;
};

/* contents.c: [Content] and the systemInstruction into a request. False: the call has been refused. */
bool gemini_put_contents(struct model_call *call, tn_builder *body);

/* request.c: the body of generateContent; NULL where the call has ended. */
tn_value gemini_request(struct model_call *call);
/* `over` put over `body`: objects member by member, `tools` one after the other, all else replaced; names in
 * snake_case, which Google's own libraries take, made what the service's documentation says. Takes `body`. */
tn_value gemini_merge_take(tn_value body, tn_value over);

/* answer.c */
void gemini_event(struct model_call *call, const char *name, tn_value json);
void gemini_answer_release(struct gemini_call *own);

/* error.c */
void gemini_error(struct model_call *call, tn_value body, struct model_failure *failure);

/* embed.c: the body of the next request of a call that embeds, and what came back for it: true, there is more. */
tn_value gemini_embed_request(struct model_call *call, const char **method);
bool gemini_embed_answer(struct model_call *call, tn_value json);

/* vertex.c: fills base and model. False, and why in `message`. */
bool gemini_locate(struct gemini *gemini, const char *model, const char *base_url, const char *project,
                   const char *location, char message[256]);
/* The model's name without what stands before it: "gemini-3-pro-preview". */
const char *gemini_short_name(const struct gemini *gemini);

#endif
