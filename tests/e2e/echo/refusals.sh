# What the host reports about a plugin or a program before or outside of a call does not contain the secret: a refusal, a
# failed start, a message that cannot be read, an attempt that the sandbox refuses.
[ -x /usr/bin/python3 ] || skips "python3 is not installed in the system's folders"
cat >refuses.c <<'C'
#include <stdlib.h>
#include <tenon/easy.h>

TN_PLUGIN("test.refuses", "1.0.0", "Refuses with its secret")
TN_NOTE("{\"component\":{\"kind\":\"tool\",\"id\":\"test.refuse\",\"title\":\"Refuses\",\"documentation\":\"Refuses.\","
        "\"style\":\"async\",\"effects\":[],\"input\":{\"type\":\"object\"}}}")

static char text[200];

static int32_t init(void *self, tn_value config) {
    (void)self;
    snprintf(text, sizeof text, "bad key %s", tn_get_text(config, "key", ""));
    if (strcmp(tn_get_text(config, "when", ""), "init") != 0) return TN_OK;
    return tn_refuse("BAD_KEY", text);
}
TN_LIFECYCLE(init, NULL, NULL)

static int32_t create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)self;
    return tn_refuse("BAD_KEY", text);
}
static int32_t start(void *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    return tn_done(task);
}
TN_COMPONENT(refuse, "test.refuse", create, start, NULL, NULL, NULL)
C
"$CC" -std=c99 -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -o refuses.so refuses.c || fails "the plugin does not compile"
for when in init create; do
    echo "plugins: {config: {test.refuses: {key: {secret: ECHO_KEY}, when: $when}}}" >tenon.yaml
    for how in "" "--isolate test.refuses"; do
        # shellcheck disable=SC2086
        run tenon tool call test.refuse '{}' --plugins ./refuses.so --allow-drafts $how
        [ "$code" != 0 ] || fails "the plugin did not refuse"
        expect_in err 'bad key {secret:ECHO_KEY}' && expect_no_secret
    done
done
rm tenon.yaml

# A program whose answers are wrong.
cat >program.py <<'P'
#!/usr/bin/env -S python3 -IS
import json, os, time
key = os.environ["ECHO_KEY"]
if os.path.basename(__file__) == "fails.py":
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "bad key " + key}})
    os.write(3, ("Content-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
else:
    os.write(3, ("X-%s: 1\r\n\r\n" % key).encode())
time.sleep(30)
P
for name in fails garbles; do
    cp program.py $name.py && chmod +x $name.py
    cat >$name.py.tenon.json <<J
{"plugin": {"id": "test.$name", "version": "1.0.0", "title": "Fails", "licence": "MIT", "requires": ["tenon.core/1"]},
 "components": [{"kind": "tool", "id": "test.$name", "title": "Fails", "effects": ["secret:ECHO_KEY"], "style": "async", "input": {"type": "object"}}]}
J
    run tenon tool call test.$name '{}' --plugins "./$name.py"
    [ "$code" != 0 ] || fails "the program did not fail"
    expect_in err '{secret:ECHO_KEY}' && expect_no_secret
done

# The log line about a file whose name is the secret.
[ -e "$BINARY/lib/tenon/plugins/define.so" ] || skips "built without tenon.define"
tenon doctor >doctor 2>&1 || true
! grep -qE 'Landlock.*(none|not)|libseccomp.*not' doctor || skips "this machine cannot enforce the sandbox"
mkdir kept+secret
touch "$ECHO_KEY"
cat >tenon.yaml <<Y
plugins:
  config:
    tenon.define:
      tools: [{name: opens, command: [sh, -c, 'read x <"$PWD/\$KEY"'], effects: [], env: {KEY: {secret: ECHO_KEY}}}]
Y
run tenon tool call opens '{}'
expect_in err 'here/{secret:ECHO_KEY}", read)' && expect_no_secret
