# A document from a pipe is in no folder: it counts as a file of the working directory.
document prompts/hello.md >d.yaml
for name in - /dev/stdin /proc/self/fd/0; do
    last="tenon run $name"
    code=0
    "$TENON" run "$name" <d.yaml >"$work/out" 2>"$work/err" || code=$?
    expect_code 0 && expect_in out "Hello Ada"
    code=0
    document prompts/hello.md | "$TENON" run "$name" >"$work/out" 2>"$work/err" || code=$?
    expect_code 0 && expect_in out "Hello Ada"
    for file in ../secret/key /dev/fd/0 /proc/self/environ; do
        code=0
        document "$file" | "$TENON" run "$name" >"$work/out" 2>"$work/err" || code=$?
        expect_code 3 && expect_in err "it is $outside"
    done
done
run tenon run <(document ../secret/key)
expect_code 3 && expect_in err "it is $outside"
