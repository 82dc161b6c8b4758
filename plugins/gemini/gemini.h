/*
 * gemini.h - declarations that the files of the Gemini provider share.
 *
 * contents.c converts messages to contents, request.c builds the request, answer.c reads the answer, error.c reads
 * errors; partial.c assembles streamed arguments, embed.c implements embeddings, vertex.c builds a model's address,
 * and plugins/google authenticates. gemini.c connects them to plugins/model. interactions.c and interactions_read.c are
 * the tools `interactions.…`.
 */
#ifndef TENON_PLUGINS_GEMINI_H
#define TENON_PLUGINS_GEMINI_H

#include "google.h"
#include "model.h"
#include "partial.h"

#define GEMINI_BASE_URL   "https://generativelanguage.googleapis.com/v1beta"
#define GEMINI_PATH_MAX   1024 /* bytes of an address: base url, project, location and model */
#define GEMINI_EMBED_MAX  100  /* texts in one embedding request; more texts take several requests */
#define GEMINI_REASON_MAX 64   /* bytes of a block reason that are shown */

/* A configured model: the provider_data of a struct model. */
struct gemini {
    tn_value project;            /* NULL: AI Studio */
    char base[GEMINI_PATH_MAX];  /* the address before "/models/…"; a method's path is appended */
    char model[GEMINI_PATH_MAX]; /* "models/NAME", "publishers/google/models/NAME", … */
    struct token_source *source; /* for a project */
    bool uses_second_key;        /* use GOOGLE_API_KEY, because GEMINI_API_KEY does not exist */
};

/* The state of a call: the provider_data of a struct model_call. */
struct gemini_call {
    /* answer.c */
    struct partial *partial; /* the arguments of the call that is being streamed; may be NULL */
    int64_t call_index;      /* of the newest call; calls are numbered in order of arrival */
    int64_t calls;
    bool awaits_signature; /* the last part is text, and a signature may follow */
    bool sources_added;    /* the sources have been added to the content */
    tn_value grounding, citations, url_context;
    struct model_audio audio; /* samples, until another part follows or the answer ends */
    tn_value audio_type;      /* their media type; NULL: none */
    /* embed.c */
    uint64_t embedded; /* number of texts embedded so far */
    /* gemini.c */
    tn_value body; /* of the request; kept because sending may wait for a token, or be repeated with another */
    const char *method;
    tn_value header; /* the token of the last attempt */
    bool retried;    /* the request was repeated with another token */
    struct token_wait wait;
    struct model_call *call;
};

/* gemini.c: Makes access tokens of Google Cloud. */
extern const struct token_maker gemini_maker;

/* contents.c: Writes `contents` and `systemInstruction` into a request. Returns false if the call has failed. */
bool gemini_put_contents(struct model_call *call, tn_builder *body);

/* request.c: False if the answer must be requested in one piece: speech is the same then, and some models cut it in a
 * stream. */
bool gemini_streams(const struct model_call *call);
/* Returns the body of generateContent, a new reference. NULL if the call has ended. */
tn_value gemini_request(struct model_call *call);

/* answer.c */
void gemini_event(struct model_call *call, const char *name, tn_value json);
void gemini_answer_release(struct gemini_call *state);

/* error.c */
void gemini_error(struct model_call *call, tn_value body, struct tn_model_failure *failure);

/* embed.c: Returns the body of the next embedding request and its method. */
tn_value gemini_embed_request(struct model_call *call, const char **method);
/* Reads its answer. Returns true if another request is needed. */
bool gemini_embed_answer(struct model_call *call, tn_value json);

/* gemini.c: Returns a non-empty text of the configuration (which may be NULL), of the plugin's section of tenon.yaml,
 * or of the environment; or NULL. `variable` may be NULL. */
const char *gemini_get_setting(tn_value config, const char *name, const char *variable);

/* vertex.c: Sets base and model. On failure, returns false with the reason in `message`. */
bool gemini_build_address(struct gemini *gemini, const char *model, const char *base_url, const char *project,
                          const char *location, char message[256]);
/* Returns the model's name without its path: "gemini-3-pro-preview". */
const char *gemini_get_short_name(const struct gemini *gemini);

#endif
