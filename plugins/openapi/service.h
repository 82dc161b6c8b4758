/*
 * service.h - one REST service: its description, its operations as tools, and its credentials.
 *
 *     struct service *service = service_read("petstore", section);     // NULL: error logged
 *     for (uint32_t i = 0; i < service->count; i++) registry->add(tn.host, service->operations[i].component);
 *     service_free(service);
 *
 * After service_read, only the token of a service changes.
 */
#ifndef TENON_PLUGINS_OPENAPI_SERVICE_H
#define TENON_PLUGINS_OPENAPI_SERVICE_H

#include "encode.h"
#include <tenon/http.h>

#define OPERATIONS_MAX 4096u /* of a service */
#define NODES_MAX                                                                                                      \
    500000u                 /* schema values of all operations; may be exceeded by SCHEMA_NODES_MAX                    \
                             */
#define PARAMETERS_MAX 256u /* of an operation */
#define AUTHS_MAX      32u  /* security schemes of a service */

struct service;
struct call;

enum parameter_location { IN_PATH, IN_QUERY, IN_HEADER, IN_COOKIE };

enum style { STYLE_SIMPLE, STYLE_LABEL, STYLE_MATRIX, STYLE_FORM, STYLE_SPACE, STYLE_PIPE, STYLE_DEEP };

struct parameter {
    tn_value name;     /* in the service */
    tn_value property; /* in the tool's arguments */
    enum parameter_location in;
    enum style style;
    bool explode, reserved, json;
};

/* How a file is in a part of a form. */
enum file_form { FILE_NONE, FILE_BYTES, FILE_BASE64, FILE_BASE64URL };

struct body_part {
    tn_value name;
    enum file_form file;
    tn_value media_type; /* NULL: that of the file, or the default */
};

struct body {
    tn_value property; /* NULL: no body */
    tn_value media_type;
    bool required;
    bool is_file;            /* the whole body is the bytes of a file */
    bool any_type;           /* the description has a range of media types: that of the file is sent */
    struct body_part *parts; /* of a form: those that are files or have a media type */
    uint32_t part_count;
};

/* How the next page of a result is found (page.h). */
enum paging_kind { PAGING_NONE, PAGING_PARAMETERS, PAGING_URL, PAGING_HEADER };

struct paging {
    enum paging_kind kind;
    tn_value parameters; /* PAGING_PARAMETERS: {argument: runtime expression or constant} */
    tn_value url;        /* PAGING_URL: a JSON Pointer in the body */
    tn_value items;      /* a JSON Pointer to the list in a body; NULL: not declared */
};

/* One security scheme with credentials in tenon.yaml. */
struct auth {
    tn_value name; /* the scheme's */
    enum parameter_location in;
    tn_value key;   /* name of the header, parameter or cookie */
    tn_value value; /* credential; NULL: a token is requested */
    tn_value token_url, client_id, client_secret, scope;
    tn_value token; /* current token, with "Bearer "; NULL: none, or expired */
    int64_t expires_ms;
    struct call *waiting; /* calls that wait for the token */
    uint64_t exchange;
};

struct operation {
    struct service *service;
    tn_value id;           /* of the tool: "petstore.getPet" */
    tn_value operation_id; /* as the description has it; NULL: it has none */
    tn_value method, path;
    tn_value component; /* for registry->add */
    struct parameter *parameters;
    uint32_t count;
    struct body body;
    struct paging paging;
    struct auth *auths[8]; /* all are used; NULL ends the list */
    tn_value missing;      /* schemes without credentials in tenon.yaml: "a or b"; NULL: none */
};

struct service {
    struct service *next;
    char *name;
    tn_value base_url, headers, answer_headers;       /* the last two may be NULL */
    tn_value idempotency_header;                      /* a name, or false; NULL: the default */
    tn_value redirect_hosts, upload_roots;            /* may be NULL */
    int64_t max_bytes, connect_ms, idle_ms, total_ms; /* 0: the host's default */
    int64_t max_upload_bytes;
    struct operation *operations;
    uint32_t count;
    uint32_t left_out; /* operations above OPERATIONS_MAX or NODES_MAX */
    struct auth auths[AUTHS_MAX];
    uint32_t auth_count;
};

/* `section` is the service's part of the plugin's configuration. The host has validated it. */
struct service *service_read(const char *name, tn_value section);
void service_free(struct service *service); /* NULL is allowed */
/* Logs "petstore: …". */
void service_log(const struct service *service, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
