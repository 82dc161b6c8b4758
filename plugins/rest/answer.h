/*
 * answer.h - converts the answer of a service (TN_HTTP_END of tenon/http.h) to a tool's result or error.
 *
 *     if (status is 2xx) result = answer_read_body(end); else answer_fail_task(task, "GET", "/pets/{id}", end);
 */
#ifndef TENON_PLUGINS_REST_ANSWER_H
#define TENON_PLUGINS_REST_ANSWER_H

#include <stdbool.h>
#include <tenon/easy.h>

/*
 * Returns JSON as a value, text as a string, and anything else as a file part of a message ({type: "file", …}). An
 * empty body is null. A new reference; NULL if memory runs out.
 */
tn_value answer_read_body(tn_value end);
/*
 * Fails the task. The status selects the code, and `retryable` is set if another attempt may succeed. The message
 * contains the start of the body, so that a model can react to it; the detail is {status, body}.
 */
void answer_fail_task(tn_task task, const char *method, const char *path, tn_value end);
/* The same for a redirect. `why` is the reason why it is not followed, for the message; NULL is allowed. */
void answer_fail_redirect(tn_task task, const char *method, const char *path, tn_value end, const char *why);

#endif
