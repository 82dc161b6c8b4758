# A plugin that waits for an answer with the secret, and then for a person: the journal keeps the answer without it.
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port echo_server.py
cat >waits.c <<'C'
#include <stdlib.h>
#include <tenon/easy.h>
#include <tenon/http.h>

TN_PLUGIN("test.waits", "1.0.0", "Waits for an answer and for a person")

static const tn_http_1 *http;

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof *http);
    return http != NULL ? TN_OK : TN_UNSUPPORTED;
}
TN_LIFECYCLE(init, NULL, NULL)

TN_NODE_BLOCKING(waits, "test.waits", "Waits for an answer and for a person", TN_EFFECTS("network.http", "secret:ECHO_KEY"),
                 (VALUE, request, "the request"), (WRITE, output_key, "the status")) {
    tn_value answer = NULL, error = NULL, question;
    int32_t status = http->send_wait(tn.host, task, config->request, &answer, &error);
    if (status != TN_OK) {
        status = tn_fail(task, "HTTP", tn_get_text(error, "message", "cancelled"));
        tn_release(error);
        return status;
    }
    tn_release(answer);
    if (input != NULL && tn_get(input, "continuation") != NULL) return tn_done_written(task, tn_write_text(task, config->output_key, "done"));
    question = tn_text("go on?");
    status = tn.task->interrupt(task, question, NULL, question);
    tn_release(question);
    return status;
}
C
"$CC" -std=c99 -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -o waits.so waits.c || fails "the plugin does not compile"
cat >tenon.yaml <<'Y'
store: {use: sqlite, path: ./state/store.db}
Y
cat >waits.yaml <<Y
version: "1.0"
channels: [{name: out, type: last_value}]
nodes:
  - id: wait
    type: test.waits
    config: {output_key: out, request: {method: GET, url: "http://127.0.0.1:$port/", headers: {authorization: ["Bearer ", {secret: ECHO_KEY}]}}}
edges: [{from: START, to: wait}, {from: wait, to: END}]
Y
for how in "" "--isolate test.waits"; do
    rm -rf state
    # shellcheck disable=SC2086
    run tenon run waits.yaml --plugins ./waits.so --allow-drafts --thread t --json --stream all $how
    expect_in out 'go on?' && expect_no_secret state
    grep -aqF 'ECHO_KEY' state/store.db* || fails "the journal does not contain the answer"
done
