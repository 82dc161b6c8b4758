/*
 * service.h - one REST service: its description read, its operations as tools, its ways to say who we are.
 *
 *     struct service *service = service_read("petstore", section);     // NULL: what is wrong has been logged
 *     for (uint32_t i = 0; i < service->count; i++) registry->add(tn.host, service->operations[i].component);
 *     service_free(service);
 *
 * A service does not change once it is read, apart from the token that it may hold.
 */
#ifndef TENON_PLUGINS_OPENAPI_SERVICE_H
#define TENON_PLUGINS_OPENAPI_SERVICE_H

#include "text.h"
#include <tenon/http.h>

#define OPERATIONS_MAX 4096u   /* of a service */
#define NODES_MAX      500000u /* values of all operations' schemas; the last one may have SCHEMA_NODES_MAX more */
#define PARAMETERS_MAX 256u    /* of an operation */
#define AUTHS_MAX      32u     /* ways of one service to say who we are */

struct service;
struct call;

enum place_in { IN_PATH, IN_QUERY, IN_HEADER, IN_COOKIE };

enum style { STYLE_SIMPLE, STYLE_LABEL, STYLE_MATRIX, STYLE_FORM, STYLE_SPACE, STYLE_PIPE, STYLE_DEEP };

struct parameter {
    tn_value name;     /* as the service knows it */
    tn_value property; /* as the tool's arguments do */
    enum place_in in;
    enum style style;
    bool explode, reserved, json;
};

struct body {
    tn_value property; /* NULL: there is none */
    tn_value media_type;
    bool required;
};

/* One security scheme that tenon.yaml has something for. */
struct auth {
    tn_value name; /* the scheme's */
    enum place_in in;
    tn_value key;   /* the header's, parameter's or cookie's name */
    tn_value value; /* what it is; NULL: a token that is fetched */
    tn_value token_url, client_id, client_secret, scope;
    tn_value token; /* the one there is, with "Bearer "; NULL: none, or no longer */
    int64_t expires_ms;
    struct call *waiting; /* for a token that is on its way */
    uint64_t exchange;
};

struct operation {
    struct service *service;
    tn_value id; /* of the tool: "petstore.getPet" */
    tn_value method, path;
    tn_value component; /* as for the registry */
    struct parameter *parameters;
    uint32_t count;
    struct body body;
    struct auth *auths[8]; /* all of them are used; NULL ends */
    tn_value missing;      /* what tenon.yaml says nothing for, "a or b"; NULL: nothing is */
};

struct service {
    struct service *next;
    char *name;
    tn_value base_url, headers, answer_headers;       /* the last two may be NULL */
    int64_t max_bytes, connect_ms, idle_ms, total_ms; /* 0: as the host has it */
    struct operation *operations;
    uint32_t count;
    uint32_t left_out; /* operations for which there was no room: OPERATIONS_MAX, or NODES_MAX */
    struct auth auths[AUTHS_MAX];
    uint32_t auth_count;
};

/* `section` is the service's of the plugin's configuration, which its schema has checked. */
struct service *service_read(const char *name, tn_value section);
void service_free(struct service *service); /* NULL is allowed */
/* Lines for the log: "petstore: …". */
void service_say(const struct service *service, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
