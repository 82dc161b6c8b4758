# samples/hello and samples/triage give what their expected files say. (install.sh builds triage's plugin and samples/embed
# against an installation.)
run tenon run "$SOURCE/samples/hello/hello.yaml"
expect_code 0
expect_out "$(cat "$SOURCE/samples/hello/expected.json")"
[ "$(grep -cv '^ *\(#\|$\)' "$SOURCE/samples/hello/hello.yaml")" -le 10 ] || fails "hello.yaml has more than ten lines"
for document in "$SOURCE"/samples/*/*.yaml; do
    run tenon fmt --check "$document"
    expect_code 0
done
