# plugin/unload of a plugin that a run needs: it fails and changes nothing; with `quiesce` the plugin accepts no new work, can
# be loaded again, and is unloaded when its last run has ended. Clients and editors hear of each change (unload.py).
cat >plugin.c <<'C'
#include <tenon/easy.h>
#include <unistd.h>
TN_PLUGIN("acme.hold", "1.0.0", "Waits for files")
TN_NODE_BLOCKING(hold, "acme.hold", "Waits for a file.", TN_EFFECTS("fs.read"), (FILE, file, "its name"), (WRITE, out, "a channel")) {
    (void)input;
    while (access(config->file, F_OK) != 0) usleep(10000);
    return tn_done_written(task, tn_write_int(task, config->out, 1));
}
C
sed 's/1\.0\.0/2.0.0/' plugin.c >plugin2.c
for version in "" 2; do
    "$CC" -shared -fPIC -fvisibility=hidden -o hold$version.so plugin$version.c -I "$SOURCE/sdk/include" || fails "cannot compile"
done
cat >tool.c <<'C'
#include <stdio.h>
#include <tenon/easy.h>
#include <unistd.h>
TN_PLUGIN("acme.tool", "1.0.0", "A tool that waits for a file")
TN_TOOL_BLOCKING(waits, "acme.waits", "Waits for a file.", TN_PURE, (TEXT, file, "its name")) {
    FILE *called = fopen("called", "w"); /* in the host's folder */
    if (called) fclose(called);
    while (access(args->file, F_OK) != 0) usleep(10000);
    return tn_done_text(task, args->file);
}
C
"$CC" -shared -fPIC -fvisibility=hidden -o tool.so tool.c -I "$SOURCE/sdk/include" || fails "cannot compile"
cat >hold.yaml <<YAML
version: "1.0"
agent: {name: hold}
channels: [{name: seen, type: last_value}]
nodes:
  - {id: hold, type: acme.hold, config: {file: $work/here/go, out: seen}}
edges: [{from: START, to: hold}, {from: hold, to: END}]
YAML
cat >unload.py <<'PY'
import os, sys
from wire import *
admin, other, editor = Client("s"), Client("s"), Client("s")
other.call("event/subscribe", {"events": ["component/changed"]})
FILE, URI, NODE = os.path.abspath("hold.so"), "file://" + os.path.abspath("hold.yaml"), ["node acme.hold"]


def refused(code, method, params):
    try:
        admin.call(method, params)
    except Failed as why:
        assert why.code == code, (why.code, str(why))
        return str(why)
    raise AssertionError(f"{method} did not fail")


def state(plugin="acme.hold"):
    return [row["state"] for row in admin.call("plugin/list")["plugins"] if row["id"] == plugin]


def start():
    return admin.call("run/start", {"document": "hold.yaml", "subscribe": {"modes": []}})["run_id"]


def changed(added, removed):
    event = other.event("component/changed")
    assert (event["added"], event["removed"]) == (added, removed), event


def shows(problem):
    """The editor's document has this error from now on, or none ("")."""
    while True:
        found = editor.event("textDocument/publishDiagnostics")["diagnostics"]
        found = [item for item in found if item["severity"] == 1]
        if bool(found) == bool(problem) and all(problem in item["message"] for item in found):
            return


def is_usable(usable):
    found = admin.call("document/check", {"document": "hold.yaml"})["diagnostics"]
    found = [item for item in found if item["severity"] == "error"]
    assert bool(found) != usable, found
    assert len(admin.call("component/list", {"plugin": "acme.hold"})["components"]) == usable


editor.call("initialize", {"processId": None, "capabilities": {}})
editor.send("initialized", id=None)
editor.send("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "adl", "version": 1,
                                                      "text": open("hold.yaml").read()}}, id=None)
shows("acme.hold")
admin.call("plugin/load", {"file": FILE})
changed(NODE, [])
shows("")
first = start()

# It is busy: nothing changes.
print(refused("PLUGIN_BUSY", "plugin/unload", {"plugin": "acme.hold"}))
assert state() == ["loaded"]
is_usable(True)
second = start()

# It is quiesced: no new work, also not with a graph that is open. The runs continue.
assert admin.call("plugin/unload", {"plugin": "acme.hold", "quiesce": True}) == {"state": "quiesced"}
assert admin.call("plugin/unload", {"plugin": "acme.hold", "quiesce": True}) == {"state": "quiesced"}
changed([], NODE)
shows("is quiesced")
assert state() == ["quiesced"]
is_usable(False)
print(refused("INVALID_GRAPH", "run/start", {"document": "hold.yaml"}))
refused("PLUGIN_BUSY", "plugin/unload", {"plugin": "acme.hold"})
assert state() == ["quiesced"]

# It is loaded again: usable as before.
assert admin.call("plugin/load", {"file": FILE}) == {"plugin": "acme.hold", "version": "1.0.0"}
changed(NODE, [])
shows("")
assert state() == ["loaded"]
is_usable(True)
third = start()

# Quiesced, and replaced by another build: the runs end in the old one.
admin.call("plugin/unload", {"plugin": "acme.hold", "quiesce": True})
changed([], NODE)
admin.call("plugin/upgrade", {"file": os.path.abspath("hold2.so")})
changed(NODE, [])
assert state() == ["loaded"]
is_usable(True)
fourth = start()

# It is unloaded with its last run.
admin.call("plugin/unload", {"plugin": "acme.hold", "quiesce": True})
changed([], NODE)
open("go", "w").close()
ended = {event["run_id"]: event["status"] for event in (admin.event("run/ended") for _ in range(4))}
assert ended == {run: "done" for run in (first, second, third, fourth)}, ended
while state() != ["unloaded"]:
    pass
print(refused("NOT_FOUND", "plugin/unload", {"plugin": "acme.hold", "quiesce": True}))

# A plugin that no run needs is unloaded at once.
admin.call("plugin/load", {"file": FILE})
changed(NODE, [])
assert admin.call("plugin/unload", {"plugin": "acme.hold", "quiesce": True}) == {"state": "unloaded"}
changed([], NODE)

# A call that has ended does not count as work; one that runs does.
TOOL = ["tool acme.waits"]
call = {"tool": "acme.waits", "arguments": {"file": os.path.abspath("go")}, "approved": True}
for quiesce in (False, True):
    admin.call("plugin/load", {"file": os.path.abspath("tool.so")})
    changed(TOOL, [])
    admin.call("tool/call", call)
    assert admin.call("plugin/unload", {"plugin": "acme.tool", "quiesce": quiesce}) == {"state": "unloaded"}
    changed([], TOOL)
admin.call("plugin/load", {"file": os.path.abspath("tool.so")})
changed(TOOL, [])
os.unlink("go")
os.unlink("called")
waits = other.send("tool/call", call)
while not os.path.exists("called"):
    pass
refused("PLUGIN_BUSY", "plugin/unload", {"plugin": "acme.tool"})
assert admin.call("plugin/unload", {"plugin": "acme.tool", "quiesce": True}) == {"state": "quiesced"}
changed([], TOOL)
assert not any("acme" in tool["tool_name"] for tool in admin.call("tool/list")["tools"])
refused("PLUGIN_REFUSED", "tool/call", call)
open("go", "w").close()
assert other.answer(waits) == {"output": os.path.abspath("go")}
while set(state("acme.tool")) != {"unloaded"}:  # each load has an entry
    pass
assert not other.events, other.events
print("done")
PY
host_start
client unload.py
expect_code 0
expect_in out 'node `hold` of run' && expect_in out 'it is still loaded' && expect_in out 'is quiesced' && expect_in out done
run tenon plugin load hold.so --connect s
expect_code 0
run tenon plugin unload acme.hold --quiesce --connect s
expect_code 0 && expect_in err 'acme.hold: unloaded'
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
