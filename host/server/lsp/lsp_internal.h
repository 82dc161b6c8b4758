/*
 * lsp_internal.h - the state of a language server's connection, and how its parts call each other; private to this
 * room.
 *
 *     lsp.c              the life of a connection, capabilities, the table of methods
 *     lsp_text.c         open documents: opened, changed, closed
 *     lsp_check.c        checks on a thread, and the requests that wait for them
 *     lsp_diagnostics.c  diagnostics: pushed, and pulled
 *     lsp_feature_*.c    the features of adl/assist, each a row of the table
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_INTERNAL_H
#define TENON_HOST_SERVER_LSP_LSP_INTERNAL_H

#include "adl/assist/assist.h"
#include "adl/source/source.h"
#include "host/server/lsp/lsp.h"
#include "host/server/rpc/rpc_peer.h"
#include <stdbool.h>
#include <stdint.h>

struct assist_names;
struct client;
struct diagnostics;
struct lsp;
struct lsp_check;
struct lsp_index;
struct lsp_text;
struct lsp_token;

/* What the client can do (ClientCapabilities), as far as answers depend on it. */
struct lsp_client_abilities {
    bool pulls_diagnostics, refreshes_diagnostics;
    bool related_information, versioned_diagnostics;
    bool markdown; /* hover and documentation */
    bool snippets; /* completion */
    bool item_tags, item_modes;
    bool markdown_items, markdown_signatures;
    bool label_offsets; /* parameters of signatures */
    bool hierarchical_symbols;
    bool document_changes; /* WorkspaceEdit.documentChanges */
    bool creates_files;    /* resourceOperations: create */
    bool code_action_literals, disabled_actions, resolves_actions;
    bool watches_files;     /* dynamic registration */
    bool token_differences; /* semanticTokens/full/delta */
    bool refreshes_lenses, refreshes_hints, refreshes_tokens, refreshes_folding;
    bool shows_content; /* workspace/textDocumentContent */
    bool runs, debugs,
        shows_references; /* initializationOptions.commands has tenon.run, tenon.debug, tenon.showReferences */
};

#define LSP_BUCKETS 256u

struct lsp {
    struct lsp *next; /* of the same lsp_hosts */
    struct connection *connection;
    struct peer *peer;
    struct lsp_hosts *hosts;
    struct client *client; /* receives component/changed */
    struct lsp_client_abilities can;
    enum source_unit unit;
    bool files; /* the client may name files: paths are looked up, and the disk is read */
    struct lsp_text *texts;
    size_t text_count, text_size; /* bytes of all */
    struct lsp_text *by_uri[LSP_BUCKETS], *by_path[LSP_BUCKETS];
    size_t tokens_size;      /* bytes of the tokens that are kept */
    uint64_t last_result;    /* the newest resultId, of diagnostics or tokens */
    uint64_t last_change;    /* counts changes and openings of documents */
    struct lsp_check *check; /* the running one, or NULL */
    struct lsp_index *index; /* or NULL */
    bool closing;
    bool told_limit;   /* that there is no room for a document */
    bool told_folders; /* that there are more than LSP_FOLDERS_MAX folders */
    tn_value folders;  /* paths of workspace folders: [text] */
    tn_value shown;    /* URIs of contents that the client has read (lsp_content.c) */
};

/* ---- lsp.c ---- */

/* After the last check of a connection that is closed. */
void lsp_finish_closing(struct lsp *lsp);
/* Components have changed: everything is checked again, and the client is asked to read it again. */
void lsp_refresh_all(struct lsp *lsp);

/* ---- lsp_text.c ---- */

struct lsp_waiting;

/* The last answer to semanticTokens, for differences to it; without items, it is not kept. */
struct lsp_kept_tokens {
    struct lsp_token *items;
    size_t count;
    uint64_t id; /* its resultId */
};

/* An open document. */
struct lsp_text {
    struct lsp *lsp;
    struct lsp_text *next, *next_of_uri, *next_of_path;
    char *uri, *path; /* as the client wrote it; canonical path, or NULL without a file */
    char *project;    /* its nearest tenon.yaml, or NULL */
    int64_t version;
    struct source *source;      /* the newest text */
    tn_value content;           /* the same as a value, or NULL: it is made when it is needed */
    bool is_document;           /* it is ADL, not some other YAML or JSON file */
    bool is_config;             /* it is a tenon.yaml */
    bool declared;              /* the client says so (languageId) */
    struct assist *assist;      /* the newest checked version, or NULL */
    struct assist *form;        /* of a tenon.yaml: the newest checked version, or NULL; `assist` is NULL then */
    struct assist_names *names; /* of `assist`, or NULL: they are collected when they are needed */
    tn_value roles;             /* {role: null}: those that the newest checked version names; or NULL */
    struct diagnostics *found;  /* of a tenon.yaml, or NULL */
    struct source *checked;     /* its source */
    bool dirty, checking;       /* a check is due, or runs */
    uint64_t opened;            /* identifies it */
    uint64_t changed;           /* order of changes: the newest is checked first */
    uint64_t due;               /* counts what made a check due: changes, and others outside the text */
    uint64_t result;            /* resultId of pulled diagnostics: of its newest check */
    struct lsp_kept_tokens tokens;
    struct lsp_waiting *waiting; /* requests, the newest first */
    size_t waiting_count;
};

void lsp_text_open(struct lsp *lsp, tn_value params);
void lsp_text_change(struct lsp *lsp, tn_value params);
void lsp_text_close(struct lsp *lsp, tn_value params);
/* The names of the checked version, borrowed until the next check; NULL if it is not a document. */
const struct assist_names *lsp_text_names(struct lsp_text *text);
/* The open document of params.textDocument.uri, of params.item.uri or params.data.uri; or NULL. */
struct lsp_text *lsp_text_of(const struct lsp *lsp, tn_value params);
struct lsp_text *lsp_text_of_uri(const struct lsp *lsp, const char *uri);
void lsp_text_find_project(struct lsp_text *text);
/* The nearest tenon.yaml of a file, as far as this user may use it; NULL, or to be freed with mem_free. Any thread. */
char *lsp_project_of(const char *path);
char *lsp_project_of_folder(const char *folder);     /* the same for files in a folder */
bool lsp_same_project(const char *a, const char *b); /* NULL: no project */
/* If a file is open under several URIs: the one that was preferred, or opened, last. */
struct lsp_text *lsp_text_at_path(const struct lsp *lsp, const char *path);
void lsp_text_prefer(struct lsp_text *text);
void lsp_texts_free(struct lsp *lsp);
void lsp_text_set_due(struct lsp_text *text);       /* the text, or what is outside it, has changed */
void lsp_text_forget_tokens(struct lsp_text *text); /* lsp_feature_tokens.c */
/* `assist` is that of the newest text, or the text is not a document. */
bool lsp_text_is_ready(const struct lsp_text *text);

/* ---- The table of methods ---- */

#define LSP_REQUEST_FAILED (-32803)

/* A request about a document, when its newest text is checked. */
struct lsp_query {
    struct lsp *lsp;
    struct lsp_text *text;
    const struct assist *assist;
    uint32_t offset; /* of params.position, if the row has LSP_AT_POSITION */
    tn_value params;
};

/* Returns the result, a new reference; NULL with the error, or without one for `nothing` of the row. */
typedef tn_value lsp_feature(const struct lsp_query *query, struct error *error);

enum lsp_needs {
    LSP_OF_TEXT = 1,      /* params.textDocument is open, a document or a tenon.yaml, and its newest text is checked */
    LSP_OF_DOCUMENT = 3,  /* it is a document */
    LSP_AT_POSITION = 4,  /* and params.position is in it */
    LSP_OF_WORKSPACE = 8, /* all open documents are checked, and the index (lsp_index.h) is up to date */
    LSP_ALWAYS = 16,      /* it also answers if nothing is open or checked */
    LSP_UNCHECKED = 32,   /* the newest text alone is enough: no check is waited for */
    LSP_NOT_NEWEST = 64,  /* the text at the time of the request is enough, if a newer one has arrived meanwhile */
    LSP_OR_CONFIG = 128   /* beside LSP_OF_DOCUMENT: it may also be a tenon.yaml, whose `assist` has a form */
};

/* The result without an answer: null, or []; or such a request is refused. */
enum lsp_nothing { LSP_NULL, LSP_EMPTY, LSP_REFUSED };

struct lsp_row {
    const char *method;
    unsigned needs;
    enum lsp_nothing nothing;
    lsp_feature *run;
    const char *capability, *options; /* what `initialize` announces: {capability: options}, JSON; or NULL */
};

/* The rows of each file; a row without a method ends them. */
extern const struct lsp_row lsp_diagnostic_rows[];
extern const struct lsp_row lsp_format_rows[];

extern const struct lsp_row lsp_name_rows[];
extern const struct lsp_row lsp_complete_rows[];
extern const struct lsp_row lsp_outline_rows[];
extern const struct lsp_row lsp_action_rows[];
extern const struct lsp_row lsp_call_rows[];
extern const struct lsp_row lsp_token_rows[];
tn_value lsp_describe_tokens(void); /* the capability semanticTokensProvider */

const struct lsp_row *lsp_row_find(const char *method);
/* Answers the request when everything that it needs is up to date. */
void lsp_row_start(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request);
/* Answers it now. */
void lsp_row_answer(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request);

/* ---- lsp_edit.c ---- */

tn_value lsp_string(const char *text);

struct assist_edits;
/* A WorkspaceEdit; NULL with the error if the client cannot apply it. */
tn_value lsp_workspace_edit(struct lsp *lsp, const struct assist_edits *edits, struct error *error);
bool lsp_can_create_files(const struct lsp *lsp); /* with a WorkspaceEdit */
#define LSP_CANNOT_CREATE "this change creates a file, which the editor cannot do (workspaceEdit.resourceOperations)"
/* The URI of a file: the client's own, if it is open. */
tn_value lsp_uri_of_path(const struct lsp *lsp, const char *path);
/* The URI of a file that the document names, if it can be found; NULL otherwise. */
tn_value lsp_uri_of_file(const struct lsp_text *text, const char *name);
/* A Location. */
tn_value lsp_location(const struct lsp *lsp, const struct source *source, struct span span);

/* A TextEdit. */
tn_value lsp_text_edit(const struct lsp *lsp, const struct source *source, struct span span, const char *chars,
                       size_t length);

/* ---- lsp_check.c ---- */

/* Starts the next check that is due, if none runs. */
void lsp_check_next(struct lsp *lsp);
/* Documents that have read the file of this text, or may be reading it, are due again. */
void lsp_check_readers(const struct lsp_text *text);
/* All open documents are due again: what is outside them has changed. */
void lsp_check_all(struct lsp *lsp);
/*
 * Keeps the request until the newest text of the document is checked, then starts it again (lsp_row_start). With
 * LSP_NOT_NEWEST it is answered after the first check of the present text or of a later one.
 */
void lsp_check_await(struct lsp_text *text, const struct lsp_row *row, struct peer_request *request);
/* Starts the requests again that wait for this text. */
void lsp_check_release(struct lsp_text *text);

/* ---- lsp_index.c ---- */

/* Any thread. Free *text with mem_free; false if it is no regular file of at most `most` bytes. */
bool lsp_read_file(const char *path, size_t most, char **text, size_t *length);

/* ---- lsp_content.c ---- */

/* Answers workspace/textDocumentContent. */
void lsp_content(struct lsp *lsp, struct peer_request *request);
#define LSP_SHOWN_MAX        32u
#define LSP_SHOWN_LENGTH_MAX 65536u /* bytes of a URI of such a content */
/* Asks the client to read again what it shows and whose URI begins with `prefix`: of the last LSP_SHOWN_MAX contents.
 */
void lsp_refresh_content(struct lsp *lsp, const char *prefix);
tn_value lsp_reference_uri(const char *kind, const char *id);

/* ---- lsp_workspace.c ---- */

void lsp_read_folders(struct lsp *lsp, tn_value params); /* of `initialize` */
void lsp_change_folders(struct lsp *lsp, tn_value params);
void lsp_watch_files(struct lsp *lsp);
void lsp_watched_files(struct lsp *lsp, tn_value params);
void lsp_text_saved(struct lsp *lsp, tn_value params);
bool lsp_is_config_path(const char *path); /* of a tenon.yaml */

/* ---- lsp_diagnostics.c ---- */

struct diagnostic;
/* A Diagnostic of the checked version. */
tn_value lsp_diagnostic(const struct lsp_text *text, const struct diagnostic *diagnostic);
/* Sends the diagnostics of the document, or none if it is closed, unless the client pulls them. */
void lsp_publish(struct lsp_text *text);
void lsp_publish_none(struct lsp *lsp, const char *uri);

/* ---- lsp_hosts.c ---- */

/* A world for a document; release it with lsp_world_unref. */
struct lsp_world *lsp_hosts_world(struct lsp_hosts *hosts, const struct lsp_text *text);
/* The same for files of a project that are not open. NULL: components of the server's host. */
struct lsp_world *lsp_hosts_world_of_project(struct lsp_hosts *hosts, const struct lsp *lsp, const char *config);
size_t lsp_hosts_texts_max(const struct lsp_hosts *hosts); /* bytes of the open documents of a connection */
/*
 * The tenon.yaml with this canonical path has changed: the host of its project is opened again for the next check.
 * Returns true if it is the user's file: then all are.
 */
bool lsp_hosts_forget(struct lsp_hosts *hosts, const char *config);
/* Files of plugins may have changed. */
void lsp_hosts_look(struct lsp_hosts *hosts);
/* Open connections: they are refreshed when files of plugins have changed. */
void lsp_hosts_join(struct lsp_hosts *hosts, struct lsp *lsp);
void lsp_hosts_leave(struct lsp_hosts *hosts, const struct lsp *lsp);
/* Around each check, for which lsp_hosts_free waits. */
void lsp_hosts_begin_check(struct lsp_hosts *hosts);
void lsp_hosts_end_check(struct lsp_hosts *hosts);

#endif
