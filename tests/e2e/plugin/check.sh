# `tenon plugin check`: a good plugin, and plugins that break the contract in one place each.
run tenon plugin check "$(plugin sidecar)"
expect_code 0 && expect_out "" && expect_in err "no problems found"
run tenon plugin check "$(plugin posts)" # the plugin starts work by itself; the check waits until it ends
expect_code 0 && expect_not_in err "error["
run tenon plugin check "$(plugin good)" --json
expect_code 0
python '
import json, sys
found = json.load(sys.stdin)["findings"]
assert {f["severity"] for f in found} == {"warning", "note"}, found'
# The unit tests cover the plugin `hangs`, with a shorter timeout.
while read -r name finding; do
    run tenon plugin check "$(plugin "$name")"
    expect_code 4 && expect_in err "$name.so: error[$finding]: " && expect_out ""
    [ "$name" = library ] || [ "$(grep -c 'error\[' "$work/err")" = 1 ] || fails "$name: expected one error for one cause"
    expect_not_in err "$(plugin "$name"): $(plugin "$name")"
done <<'TABLE'
aborts CRASHED
bad_manifest MANIFEST_INVALID
broken_schema MANIFEST_INVALID
crashes CRASHED
declines LOAD_REFUSED
draft LOAD_REFUSED
extra EXTRA_SYMBOL
greedy CRASHED
later LOAD_REFUSED
library MANIFEST_MISSING
missing LOAD_REFUSED
no_component LOAD_REFUSED
refuses LOAD_REFUSED
unresolved LOAD_REFUSED
wrong_component LOAD_REFUSED
wrong_size LOAD_REFUSED
TABLE
run tenon plugin check "$(plugin missing)"
expect_in err '`tenon.value/7` (this host offers `tenon.value/1`)'
run tenon plugin check "$(plugin draft)" --allow-drafts
expect_not_in err "tenon.registry"
run tenon plugin check "$(plugin later)" --json
expect_code 4 && expect_in out '"severity":"error","code":"LOAD_REFUSED"' && expect_in out ">=900.1"
run tenon plugin check "$(plugin prints)" # the output of the plugin is not part of the report
expect_code 0 && expect_out "" && expect_in err "warning[STDOUT]"
for name in later missing declines wrong_size; do
    node test.$name
    run tenon run test.$name.yaml -P "$TEST_PLUGINS/$name"
    expect_code 4 && once "$(plugin $name)"
done
