# A plugin that hangs while it is loaded. Isolated, it affects only those who wait for it; in process, the host still ends.
cat >plugin.c <<'C'
#include <tenon/easy.h>
#include <unistd.h>
TN_PLUGIN("acme.hang", "1.0.0", "Hangs")
TN_NODE(hang, "acme.hang", "Never used.", TN_PURE, (WRITE, out, "a channel")) {
    (void)input;
    return tn_done_written(task, tn_write_int(task, config->out, 1));
}
__attribute__((constructor)) static void begin(void) {
    for (;;) pause();
}
C
"$CC" -shared -fPIC -fvisibility=hidden -o hang.so plugin.c -I "$SOURCE/sdk/include" || fails "cannot compile"
cat >hang.yaml <<'YAML'
version: "1.0"
agent: {name: hang}
channels: [{name: seen, type: last_value}]
nodes: [{id: hang, type: acme.hang, config: {out: seen}}]
edges: [{from: START, to: hang}, {from: hang, to: END}]
YAML
cat >hang.py <<'PY'
import os
from wire import *
admin, other, run = (Client("s") for _ in range(3))


def fails(code, client, id):
    try:
        client.answer(id)
    except Failed as why:
        assert why.code == code, (why.code, str(why))
        return
    raise AssertionError("expected " + code)


load = admin.send("plugin/load", {"file": os.path.abspath("hang.so")})
while not any(row["id"] == "acme.hang" for row in other.call("plugin/list")["plugins"]):
    pass
again = other.send("plugin/load", {"file": os.path.abspath("hang.so")})
start = run.send("run/start", {"document": "hang.yaml"})
assert other.call("host/info")["scope"] == "admin"
assert other.call("document/check", {"text": 'version: "1.0"\nnodes: []\n', "name": "x.yaml"})["diagnostics"]
for method, params in (("plugin/unload", {"plugin": "acme.hang"}), ("plugin/unload", {"plugin": "acme.hang", "quiesce": True}),
                       ("plugin/upgrade", {"file": os.path.abspath("hang.so")})):
    fails("PLUGIN_BUSY", other, other.send(method, params))
admin.send("$/cancelRequest", {"id": load}, id=None)
fails("CANCELLED", admin, load)
assert not other.answers and not run.answers, "the load has ended already"
print("done")
PY
# The plugin is not known yet: a warning, as in tenon.yaml.
host_start --isolate acme.hang
grep -q 'warning: --isolate: unknown plugin `acme.hang`' host.err || fails "expected a warning"
client hang.py
expect_code 0 && expect_out done
serve_stop # it does not wait for the plugin
[ "$code" = 0 ] || fails "expected exit status 0"
echo 'plugins: {isolation: {acme.hang: process}}' >tenon.yaml
host_start --plugins hang.so # a run loads it
client hang.py
expect_code 0 && expect_out done
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
rm tenon.yaml

# In process it stops the loop: the second signal ends the host, the first one would after the time of --drain.
host_start
PYTHONPATH="$SOURCE/tests/e2e/serve" python3 - >load.out 2>&1 <<'PY' &
import os
from wire import *
Client("s").call("plugin/load", {"file": os.path.abspath("hang.so")})
PY
loads=$!
wait_until grep -q hang.so "/proc/$host/maps"
kill -TERM "$host"
kill -INT "$host" # a second SIGTERM could be merged with the first one
expect_ended "$host" "the second signal did not end the host"
wait "$host" && code=0 || code=$?
[ "$code" = 1 ] || fails "expected exit status 1, found $code"
grep -q 'the host is stuck' host.err || fails "expected the reason"
wait "$loads" && fails "expected the end of the connection"
grep -q ConnectionError load.out || fails "expected the end of the connection"
