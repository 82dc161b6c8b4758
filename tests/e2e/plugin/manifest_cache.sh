# The cache of manifests: written by the first start, used by the next ones, and never trusted.
manifests=$XDG_CACHE_HOME/tenon/manifests
cat >hello.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 1}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
hello() {
    run tenon run hello.yaml
    expect_code 0 && expect_in out '{"n":2}'
    [ ! -s "$work/err" ] || fails "expected no message"
}
files() { find "$manifests" -type f 2>/dev/null | wc -l; }

TENON_MANIFEST_CACHE=off hello
[ "$(files)" = 0 ] || fails "the cache is off, but was written"
hello
[ "$(files)" = 1 ] || fails "expected one cache file, for the installed plugins"
cache=$(find "$manifests" -type f)
[ "$(stat -c %a "$cache" "$manifests" | tr '\n' ' ')" = "600 700 " ] || fails "others can read the cache"
before=$(stat -c %i "$cache")
hello
[ "$(stat -c %i "$cache")" = "$before" ] || fails "nothing has changed, but the cache was written"
run tenon plugin list
[ "$(stat -c %i "$cache")" != "$before" ] || fails "tenon plugin does not read the files"

# Damaged, cut, foreign, and full.
printf 'tenon-mc and nothing else' >"$cache" && hello
head -c 3000 /dev/urandom >"$cache" && hello
: >"$cache" && hello
chmod 666 "$cache" && hello
rm -r "$manifests" && echo file >"$manifests" && hello
rm "$manifests" && mkdir "$manifests" && chmod 777 "$manifests" && hello
[ "$(files)" = 0 ] || fails "wrote into a folder that others can change"
rm -r "$manifests"
(ulimit -f 1 && tenon run hello.yaml >"$work/out") && expect_in out '{"n":2}'
[ "$(files)" = 0 ] || fails "a part of a file was left"
# A start that is killed leaves no cache that a later one believes.
for i in 1 2 3 4 5; do
    tenon run hello.yaml >/dev/null 2>&1 &
    kill -9 $! 2>/dev/null || true
    wait $! 2>/dev/null || true
done
hello
