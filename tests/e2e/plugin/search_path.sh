# The search path: flag, environment, tenon.yaml, user directory, installation. The first copy of a file is used.
# tenon.yaml is found in parent directories; its paths are relative to it.
mkdir -p flag environment project "$XDG_DATA_HOME/tenon/plugins" folder/folder
for place in flag environment project "$XDG_DATA_HOME/tenon/plugins"; do cp "$(plugin good)" "$place/"; done
printf 'plugins: {path: [./project]}\n' >tenon.yaml
node test.one
cd folder/folder
# comes_from SOURCE [ARGUMENT…]
comes_from() {
    local source=$1
    shift
    run env TENON_PLUGIN_PATH=/nonexistent::../../environment "$TENON" plugin list "$@"
    expect_code 0 && expect_in out "good.so ($source)"
    [ "$(grep -c '^test.good ' "$work/out")" = 1 ] || fails "expected test.good once"
    run env TENON_PLUGIN_PATH=../../environment "$TENON" run ../../test.one.yaml "$@"
    expect_code 0 && expect_out "{}"
}
comes_from --plugins -P ../../flag
comes_from TENON_PLUGIN_PATH
expect_not_in err nonexistent # a run does not report it
rm ../../environment/good.so
comes_from tenon.yaml
run tenon plugin list --no-config
expect_in out "good.so (user directory)"
rm ../../project/good.so
comes_from "user directory"
cd ../..
rm -r "$XDG_DATA_HOME" tenon.yaml
run tenon plugin list --plugins absent
expect_code 4 && once "absent (from --plugins): No such file or directory"
