# A program that embeds the host: its results, events and errors do not contain the secret that a command tool prints.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] || skips "built without tenon.define"
cat >embedded.c <<'C'
/* embedded DOCUMENT: prints each event and the result, or the error, as JSON. */
#include <stdio.h>
#include <string.h>
#include <tenon/embed.h>

static void print(tn_value value) {
    const tn_value_1 *values = tenon_values();
    tn_value json = NULL;
    (void)values->to_json(value, NULL, &json);
    puts(values->as_text(json, NULL));
    values->release(json);
}

static int32_t on_event(void *user, tn_value event) {
    (void)user;
    print(event);
    return 1;
}

int main(int count, char **arguments) {
    const tn_value_1 *values = tenon_values();
    char *why = NULL;
    tn_value options = NULL;
    if (values->from_json(NULL, "{\"config\":\"tenon.yaml\"}", TN_Z, &options, NULL) != TN_OK) return 3;
    tenon *host = tenon_open(options, &why);
    tenon_runnable *graph = host != NULL && count == 2 ? tenon_graph_file(host, arguments[1]) : NULL;
    if (graph == NULL) return fprintf(stderr, "%s\n", host != NULL ? tenon_error(host) : why), 2;
    tn_value result = tenon_stream(graph, NULL, NULL, "all", on_event, NULL);
    print(result != NULL ? result : tenon_error_value(host));
    int code = result == NULL;
    values->release(result);
    values->release(options);
    tenon_release(graph);
    tenon_close(host);
    return code;
}
C
"$CC" ${SANITIZE:+"-fsanitize=$SANITIZE"} -I"$SOURCE/sdk/include" -o embedded embedded.c -L"$BINARY/lib" -ltenon -Wl,-rpath,"$BINARY/lib" || fails "embedded.c does not compile"
cat >tenon.yaml <<'Y'
plugins:
  config:
    tenon.define:
      tools:
        - {name: says, command: [sh, -c, 'printf "the key is %s" "$KEY"'], effects: [], env: {KEY: {secret: ECHO_KEY}}}
        - {name: breaks, command: [sh, -c, 'echo "bad key $KEY" >&2; exit 3'], effects: [], env: {KEY: {secret: ECHO_KEY}}}
Y
for tool in says breaks; do
    cat >$tool.yaml <<Y
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: a, type: tool, config: {tool: $tool, output_key: out}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
done
run ./embedded says.yaml
expect_code 0 && expect_in out '"out":"the key is {secret:ECHO_KEY}"' && expect_in out '"type":"' && expect_no_secret
run ./embedded breaks.yaml
expect_code 1 && expect_in out 'bad key {secret:ECHO_KEY}' && expect_no_secret
