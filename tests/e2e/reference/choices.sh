# Every choice that the reference lists for an option is accepted.
topic commands
# choices COMMAND OPTION: prints them as the reference lists them
choices() { section commands.md "tenon $1" | sed -nE "s/^- .*--$2 .*: (\`.*)/\1/p" | grep -o '`[a-z]*`' | tr -d '`'; }
[ "$(choices graph format | wc -l)" = 6 ] && [ "$(choices run stream | wc -l)" = 8 ] || fails "expected 6 formats of graph and 8 modes of run"
for format in $(choices graph format); do
    run tenon graph hello.yaml --format "$format"
    expect_code 0
done
for mode in $(choices run stream); do
    run tenon run hello.yaml --stream "$mode"
    expect_not_in err "stream mode"
done
for shell in $(choices reference completion); do
    run tenon reference --completion "$shell"
    expect_code 0 && [ -s "$work/out" ] || fails "cannot print the completion of $shell"
done
