# --model
run tenon model test --model 'scripted:flag' --prompt hey
expect_code 0 && expect_in err "scripted:flag:"
run tenon model test denied -M 'denied={"provider": "scripted", "replies": ["let in"]}'
expect_code 0 && expect_out "let in"
run tenon model test -M '[{"provider": "scripted", "replies": ["first"]}, "scripted:b"]'
expect_code 0 && expect_out "first"
for wrong in "" "=x" "a=" '{"model": "x"}' "[]" '[[]]' '{'; do
    run tenon model list -M "$wrong"
    expect_code 4
done
expect_in err "--model {: found the end of the text, expected a key in double quotes, at line 1, column 2 [PARSE]"
run tenon model list -M '{"model": "x"}'
expect_in err 'expected [ROLE=]PROVIDER:NAME'
