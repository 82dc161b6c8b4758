/*
 * answer.h - what a service answered (TN_HTTP_END of tenon/http.h), as a tool's result or error.
 *
 *     if (status is 2xx) result = answer_body(end); else answer_refuse(task, "GET", "/pets/{id}", end);
 */
#ifndef TENON_PLUGINS_REST_ANSWER_H
#define TENON_PLUGINS_REST_ANSWER_H

#include <stdbool.h>
#include <tenon/easy.h>

/*
 * JSON as it is, text as text, anything else as a part of a message ({type: "file", …}); no body is null. A new
 * reference; NULL without memory.
 */
tn_value answer_body(tn_value end);
/*
 * Fails the task with what the service said, for whoever asked, a model above all: the code is by the status, what may
 * be tried again says so, the detail has {status, body}.
 */
void answer_refuse(tn_task task, const char *method, const char *path, tn_value end);

#endif
