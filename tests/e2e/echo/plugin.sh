# A plugin that has a secret in its configuration and returns it in every way that a component has, in the host's process
# and in its own.
cat >leaks.c <<'C'
#include <stdlib.h>
#include <tenon/base64.h>
#include <tenon/easy.h>

TN_PLUGIN("test.leaks", "1.0.0", "Returns its secret")

static char key[100];

static int32_t init(void *self, tn_value config) {
    (void)self;
    snprintf(key, sizeof key, "%s", tn_get_text(config, "key", ""));
    return TN_OK;
}
TN_LIFECYCLE(init, NULL, NULL)

/* {name: text}, or {delta: {index: 0, id: key, arguments: text}} */
static int32_t emit_piece(tn_task task, const char *name, const char *text, uint64_t length) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (name == NULL) {
        tn_put_begin(builder, "delta", TN_OBJECT);
        tn_put_int(builder, "index", 0);
        tn_put_text(builder, "id", key);
    }
    tn_put_take(builder, name != NULL ? name : "arguments", tn_text_n(text, length));
    if (name == NULL) tn.value->end(builder);
    tn.value->end(builder);
    tn_value chunk = tn_finish(builder);
    int32_t status = tn.task->emit(task, chunk);
    tn_release(chunk);
    return status;
}

static void emit_all(tn_task task, uint64_t size) {
    for (uint64_t at = 0, length = strlen(key); at < length; at += size)
        (void)emit_piece(task, size == 5 ? NULL : "text", key + at, length - at < size ? length - at : size);
}

TN_NODE_BLOCKING(leak, "test.leak", "Returns the secret", TN_PURE, (TEXT, how, "in which way"),
                 (WRITE, output_key, "where it is written")) {
    char text[400];
    tn_value value;
    if (strcmp(config->how, "fail") == 0) {
        snprintf(text, sizeof text, "bad key %s", key);
        return tn_fail(task, "LEAKED", text);
    }
    if (strcmp(config->how, "log") == 0) tn_log(TN_LOG_WARN, key);
    if (strcmp(config->how, "ask") == 0) {
        value = tn_text(key);
        int32_t status = tn.task->interrupt(task, value, NULL, value);
        tn_release(value);
        return status;
    }
    if (strcmp(config->how, "emit") == 0)
        for (uint64_t size = 1; size < 30; size++) emit_all(task, size);
    char *end = tn_base64_put(text, key, strlen(key));
    *end++ = ' ';
    snprintf(end, sizeof text - (size_t)(end - text), "%s", key);
    return tn_done_written(task, tn_write_text(task, config->output_key, text));
}
C
# Its tool, whose output is not a write.
cat >leaks_tool.c <<'C'
#include <tenon/easy.h>
TN_TOOL(give, "test.give", "Returns its argument.", TN_PURE, (TEXT, text, "what it returns")) {
    return tn_done_text(task, args->text);
}
C
"$CC" -std=c99 -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -o leaks.so leaks.c leaks_tool.c || fails "the plugin does not compile"
cat >tenon.yaml <<'Y'
store: {use: sqlite, path: ./state/store.db}
tools: {audit: audit.jsonl, audit_arguments: true}
plugins: {config: {test.leaks: {key: {secret: ECHO_KEY}}}}
Y
for how in write emit log fail ask; do
    cat >$how.yaml <<Y
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: leak, type: test.leak, config: {how: $how, output_key: out}}]
edges: [{from: START, to: leak}, {from: leak, to: END}]
Y
done
leak() { run tenon run "$1.yaml" --plugins ./leaks.so --allow-drafts --thread "$1" --json --stream all "${@:2}"; }
for how in "" "--isolate test.leaks"; do
    rm -rf state
    # shellcheck disable=SC2086
    {
        leak write $how
        expect_code 0 && expect_in out ' {secret:ECHO_KEY}"' && expect_no_secret state
        leak log $how
        expect_code 0 && expect_in err '{secret:ECHO_KEY}' && expect_no_secret state
        leak fail $how
        expect_code 1 && expect_in err 'bad key {secret:ECHO_KEY}' && expect_no_secret state
        leak ask $how
        expect_in out '"{secret:ECHO_KEY}"' && expect_no_secret state
        run tenon thread show ask --json
        expect_code 0 && expect_in out '{secret:ECHO_KEY}' && expect_no_secret
        leak emit $how
        expect_code 0
    }
    # Pieces of 1 to 29 characters: of each run of pieces, at most three characters of the secret are left.
    cp "$work/out" out.json
    python3 - <<'PY' >"$work/out" || fails "the pieces are not the secret's name"
import json
texts = {}
whole = ""
for line in open("out.json"):
    event = json.loads(line)
    if event.get("type") != "custom": continue
    data = event["data"]
    whole += data.get("text", "") or data.get("delta", {}).get("arguments", "")
    assert data.get("delta", {}).get("id") in (None, "{secret:ECHO_KEY}"), data
left = whole.replace("{secret:ECHO_KEY}", "|").split("|")
print(whole)
assert len(left) == 30 and left[-1] == "" and all(text in ("", "k", "ke", "kep") for text in left), left
PY
    expect_no_secret state
done
# The audit log has the arguments without the secret, if the host knows it: a document that passes on a text that is one.
cat >give.yaml <<Y
version: "1.0"
channels: [{name: out, type: last_value}]
nodes:
  - {id: leak, type: test.leak, config: {how: write, output_key: out}}
  - {id: give, type: tool, config: {tool: test.give, arguments: {text: "'got $ECHO_KEY'"}, output_key: out}}
edges: [{from: START, to: leak}, {from: leak, to: give}, {from: give, to: END}]
Y
leak give
expect_code 0 && expect_in out '"out":"got {secret:ECHO_KEY}"'
grep -qF '{"text":"got {secret:ECHO_KEY}"}' audit.jsonl || fails "the audit log has no arguments"
last="audit log" && expect_no_secret audit.jsonl
