# `tenon plugin list` names the origin of every component and runs no plugin code.
run tenon plugin list
expect_code 0 && expect_in out "tenon.core" && expect_in out "core.so (installed)" && expect_in out "    node     passthrough  "
[ ! -s "$work/err" ] || fails "expected nothing on standard error"
run tenon plugin list --plugins "$TEST_PLUGINS/good" -P "$(plugin aborts)"
expect_code 0 && expect_in out "$(plugin good) (--plugins)" && expect_in out "$(plugin aborts) (--plugins)"
expect_in out "test.good 1.2.3  A plugin for tests" && expect_in out "test.aborts"
run tenon plugin list --json -P "$TEST_PLUGINS/good" -P "$TEST_PLUGINS/library"
expect_code 0
python '
import json, sys
told = json.load(sys.stdin)
good = [p for p in told["plugins"] if p["id"] == "test.good"][0]
assert good["version"] == "1.2.3" and good["source"] == "--plugins" and good["file"].endswith("good.so"), good
assert {"kind": "node", "id": "test.two", "title": "The other node"} in good["components"]
assert isinstance(told["problems"], list)'

# Which plugins run in a separate process, and why.
run tenon plugin list -P "$TEST_PLUGINS/good"
[ "$(grep -c 'in a separate process' "$work/out")" = 1 ] || fails "expected only tenon.ffi"
expect_in out "in a separate process: its manifest requests it"
run tenon plugin list -P "$TEST_PLUGINS/good" --isolate test.good
expect_in out "in a separate process: --isolate"
printf 'plugins: {isolation: {"*": process}}\n' >isolation.yaml
run tenon plugin list -P "$TEST_PLUGINS/good" --config isolation.yaml
expect_in out "in a separate process: tenon.yaml, plugins.isolation"
run tenon plugin list -P "$TEST_PLUGINS/good" --config isolation.yaml --json
expect_in out '"isolated":"tenon.yaml, plugins.isolation"'
run tenon plugin list -P "$SOURCE/samples/python"
expect_in out "in a separate process: it is a program"
