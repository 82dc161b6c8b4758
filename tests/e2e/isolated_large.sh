# Large values cross to a plugin in the sandbox and back in shared memory, unchanged; the plugin gains no right by that.
cat >large.c <<'SOURCE'
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>
#include <unistd.h>
TN_PLUGIN("test.large", "1.0.0", "Large values")

TN_NODE(copy, "test.copy", "Writes what it reads.", TN_PURE, (READ, input_key, "from"), (WRITE, output_key, "to")) {
    return tn_done_written(task, tn_write_take(task, config->output_key, tn_read(task, config->input_key)));
}

/* What a plugin finds: the number of memories, how many of them can be resized, and whether it may create one. It overwrites them. */
TN_NODE(look, "test.look", "Looks at its descriptors.", TN_PURE, (WRITE, output_key, "to")) {
    static char noise[1 << 16];
    int64_t found = 0, resized = 0;
    memset(noise, 0xff, sizeof(noise));
    for (int fd = 0; fd < 256; fd++) {
        if (fcntl(fd, F_GET_SEALS) < 0) continue;
        found++;
        resized += ftruncate(fd, 0) == 0 || ftruncate(fd, 1 << 27) == 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
        for (int i = 0; i < 64; i++)
            if (pwrite(fd, noise, sizeof(noise), (off_t)i * (off_t)sizeof(noise)) < 0) break;
    }
    int own = memfd_create("own", 0);
    if (own >= 0) (void)close(own);
    tn_value result = tn_build("{s:i, s:i, s:b}", "found", found, "resized", resized, "created", own >= 0);
    return tn_done_written(task, tn_write_take(task, config->output_key, result));
}
SOURCE
"$CC" -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -I"$SOURCE/sdk/include" -o large.so large.c || fails "large.c does not compile"
cat >large.yaml <<'YAML'
version: "1.0"
channels: [{name: v, type: last_value}, {name: w, type: last_value}, {name: seen, type: last_value}]
nodes:
  - {id: copy, type: test.copy, config: {input_key: v, output_key: w}}
  - {id: look, type: test.look, config: {output_key: seen}}
edges: [{from: START, to: copy}, {from: copy, to: look}, {from: look, to: END}]
YAML
python3 - >batch.jsonl <<'PYTHON'
import base64, json
text = "a\"\\\u0001é€😀" * 30000
values = ["small", text, text, {"deep": [{"a": text}, 1, text[:20000], {"b": [text[1:]]}]}, {"$bytes": base64.b64encode(bytes(range(256)) * 1000).decode()},
          ["x" * 16384] * 200, {"shared": {"position": 7, "values": []}, "text": text}, "x" * 3000000, "small"]
for value in values: print(json.dumps({"v": value}))
PYTHON
run tenon run large.yaml --plugins large.so --batch batch.jsonl --concurrency 1
expect_code 0
cp "$work/out" plain
run tenon run large.yaml --plugins large.so --isolate test.large --batch batch.jsonl --concurrency 1
expect_code 0
python3 - plain "$work/out" <<'PYTHON' || fails "isolated, the results are different"
import json, sys
plain, isolated = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
assert len(plain) == len(isolated) == 9
for a, b in zip(plain, isolated):
    a, b = (x.get("state", x.get("output", x)) for x in (a, b))
    assert a["v"] == a["w"] == b["v"] == b["w"]
seen = [x.get("state", x.get("output", x))["seen"] for x in isolated]
assert seen[0]["found"] == 0 and seen[-1]["found"] == 2, seen
assert all(x["resized"] == 0 for x in seen), seen
PYTHON
if tenon doctor 2>/dev/null | grep -q 'seccomp *filters'; then
    grep -q '"created":true' "$work/out" && fails "the plugin has created shared memory"
fi
# One of them in two processes, whose tasks run at once; and each process may be killed.
for i in 1 2 3 4 5 6; do sed -n 2p batch.jsonl; done >same.jsonl
run tenon run large.yaml --plugins large.so --isolate test.large --batch same.jsonl --concurrency 6
expect_code 0
