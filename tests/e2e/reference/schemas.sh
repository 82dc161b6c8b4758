# `tenon schema NAME` prints the schemas that are installed, and `tenon schema list` lists them. The forms of the method
# table are tested in methods.sh and types.sh.
run tenon schema list
expect_code 0
names=$(cut -d' ' -f1 "$work/out")
[ "$(wc -w <<<"$names")" = 17 ] || fails "expected 17 schemas"
for name in $names; do
    [ "$name" != adl ] || continue
    run tenon schema "$name"
    expect_code 0
    case $name in
    methods | openrpc | typescript | python)
        [ -s "$work/out" ] && [ ! -s "$work/err" ] || fails "cannot print the form $name"
        continue
        ;;
    config) # generated; config_schema_test compares it with the reader of tenon.yaml
        expect_in out '"title": "tenon.yaml, the configuration of Tenon"'
        continue
        ;;
    esac
    file=$SOURCE/sdk/schema/component/1/$name.schema.json
    [ "$name" != suite ] || file=$SOURCE/host/evaluation/suite.schema.json
    [ "$name" != manifest ] || file=$SOURCE/sdk/schema/manifest.schema.json
    cmp -s <(tr -d ' \n' <"$work/out") <(tr -d ' \n' <"$file") || fails "tenon schema $name differs from $file"
done
run tenon schema modle
expect_code 2
expect_in err 'tenon: there is no schema `modle`; did you mean `model`?'
