# A plugin is loaded, upgraded and unloaded over the socket while 1,000 runs wait in it: they finish on the old code, every
# client that listens hears of the change, and documents and lists change at once (modules.py).
for version in 1 2; do
    cat >plugin$version.c <<C
#include <tenon/easy.h>
#include <unistd.h>
TN_PLUGIN("acme.which", "$version.0.0", "Says which build it is")
TN_NODE(which, "acme.which", "Writes which build it is.", TN_PURE, (WRITE, out, "a list's channel")) {
    (void)input;
    return tn_done_written(task, tn_write_int(task, config->out, $version));
}
TN_NODE_BLOCKING(hold, "acme.hold", "Waits for a file, then writes which build it is.", TN_EFFECTS("fs.read"), (FILE, file, "its name"),
                 (WRITE, out, "a list's channel")) {
    (void)input;
    while (access(config->file, F_OK) != 0) usleep(10000);
    return tn_done_written(task, tn_write_int(task, config->out, $version));
}
C
    "$CC" -shared -fPIC -fvisibility=hidden -o which-$version.so plugin$version.c -I "$SOURCE/sdk/include" || fails "cannot compile"
done
cat >which.yaml <<'YAML'
version: "1.0"
agent: {name: which}
channels: [{name: seen, type: append}]
nodes:
  - {id: before, type: acme.which, config: {out: seen}}
  - {id: after, type: acme.which, interrupt: before, config: {out: seen}}
edges: [{from: START, to: before}, {from: before, to: after}, {from: after, to: END}]
YAML
cat >hold.yaml <<YAML
version: "1.0"
agent: {name: hold}
channels: [{name: seen, type: append}]
nodes:
  - {id: hold, type: acme.hold, config: {file: $work/here/go, out: seen}}
edges: [{from: START, to: hold}, {from: hold, to: END}]
YAML
cat >modules.py <<'PY'
import os
from wire import *
RUNS = 1000
admin, editor, other = (Client("s") for _ in range(3))
for client in (editor, other):
    client.call("event/subscribe", {"events": ["component/changed"]})
COMPONENTS = ["node acme.hold", "node acme.which"]


def changed(**expected):
    """Both clients hear of it."""
    for client in (editor, other):
        event = client.event("component/changed")
        assert {name: sorted(event[name]) for name in expected} == expected, event


def versions():
    return [row["version"] for row in admin.call("component/list", {"plugin": "acme.which"})["components"]]


def problems():
    """Which nodes of the document have a type that is not known."""
    return [found["code"] for found in admin.call("document/check", {"document": "which.yaml"})["diagnostics"]]


def start(document):
    return admin.call("run/start", {"document": document, "subscribe": {"modes": []}})["run_id"]


def ends(count, status):
    """The ends of so many runs: {run: what they have seen}."""
    ended = {}
    for _ in range(count):
        event = admin.event("run/ended")
        assert event["status"] == status, event
        ended[event["run_id"]] = event["report"]["state"]["seen"]
    return ended


assert versions() == [] and len(problems()) == 2, problems()
assert admin.call("plugin/load", {"file": os.path.abspath("which-1.so")}) == {"plugin": "acme.which", "version": "1.0.0"}
changed(added=COMPONENTS, removed=[])
assert versions() == ["1.0.0", "1.0.0"] and problems() == []

runs = [start("which.yaml") for _ in range(RUNS)]
assert all(seen == [1] for seen in ends(RUNS, "interrupted").values())
held = [start("hold.yaml") for _ in range(3)]     # the old code is running

upgraded = admin.call("plugin/upgrade", {"file": os.path.abspath("which-2.so")})
assert upgraded == {"plugin": "acme.which", "version": "2.0.0", "was": "1.0.0"}
changed(added=COMPONENTS, removed=COMPONENTS)
assert versions() == ["2.0.0", "2.0.0"] and problems() == []
new = start("which.yaml")
assert ends(1, "interrupted") == {new: [2]}
for run in held:
    assert admin.call("run/get", {"run_id": run})["status"] == "running"
open("go", "w").close()
assert ends(3, "done") == {run: [1] for run in held}
late = start("hold.yaml")
assert ends(1, "done") == {late: [2]}
sent = [admin.send("run/answer", {"run_id": run}) for run in runs]
for id in sent:
    admin.answer(id)
assert ends(RUNS, "done") == {run: [1, 1] for run in runs}

try:
    admin.call("plugin/unload", {"plugin": "acme.which"})
    raise AssertionError("a plugin that a run needs was unloaded")
except Failed as why:
    assert why.code == "PLUGIN_BUSY", why
    print(why)
admin.call("run/answer", {"run_id": new})
assert ends(1, "done") == {new: [2, 2]}
admin.call("plugin/unload", {"plugin": "acme.which"})
changed(added=[], removed=COMPONENTS)
assert versions() == [] and len(problems()) == 2
try:
    start("which.yaml")
    raise AssertionError("a document without its plugin was started")
except Failed as why:
    assert why.code == "INVALID_GRAPH", why

admin.call("plugin/load", {"file": os.path.abspath("which-2.so")})  # and again
changed(added=COMPONENTS, removed=[])
assert problems() == []
again = start("which.yaml")
assert ends(1, "interrupted") == {again: [2]}
assert not admin.events and not editor.events and not other.events, "an event too many"
print("done")
PY
host_start
client modules.py
expect_code 0
expect_in out done
cat "$work/out"
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
