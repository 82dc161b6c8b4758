# `tenon model test`: the answer, its usage, and unknown models.
run tenon model test --prompt Ada
expect_code 0 && expect_out "Hello Ada" && expect_in err "scripted:small: first text after " && expect_in err "tokens in"
run tenon model test default --prompt Ada --json
expect_code 0 && expect_in out '"model":"scripted:small"' && expect_in out '"content":"Hello Ada"'
expect_in out '"input_tokens":1' && expect_in out '"output_tokens":3' && expect_in out '"cost":7.0'
expect_in out '"finish_reason":"stop"'
run tenon model test scripted --prompt echo --no-config
expect_code 0 && expect_out "echo"
run tenon model test --no-config
expect_code 2 && expect_in err "has no role \`default\`"
run tenon model test scriptet:x
expect_code 4 && expect_in err "no plugin offers the model \`scriptet\`; did you mean \`scripted\`?"
run tenon model test nope
expect_code 4 && expect_in err "no plugin offers the model \`nope\`; \`tenon model list\` lists what is available [NOT_FOUND]"
run tenon model test denyed
expect_code 4 && expect_in err "tenon.yaml has no role \`denyed\`; did you mean \`denied\`? (no plugin offers"
# Long names are shortened in messages.
long=$(head -c 100000 /dev/zero | tr '\0' x)
for given in "$long" "default=$long:y" "[{\"provider\": \"$long\"}]"; do
    run tenon model test --model "$given"
    expect_code 4 && expect_in err "no plugin offers the model \`xxx" && expect_in err "[NOT_FOUND]"
    [ "$(wc -c <"$work/err")" -lt 1000 ] || fails "the message does not shorten the name"
done
for given in "=$long" "{$long}" "[\"$long\", 1]"; do
    run tenon model test --model "$given"
    expect_code 4 && expect_in err "--model" && [ "$(wc -c <"$work/err")" -lt 1000 ] || fails "expected a message of less than 1000 bytes"
done
# ---- A model as JSON; the statistics come after the answer ----
run sh -c '"$0" model test "{\"provider\": \"scripted\", \"replies\": [\"said\"]}" 2>&1' "$TENON"
expect_code 0 && [ "$(head -1 "$work/out")" = said ] || fails "expected the answer on a separate line"
run sh -c '"$0" model test "{\"provider\": \"scripted\", \"chunk\": 4, \"replies\": [{\"message\": \"half an ans\", \"error\": {\"code\": \"OVERLOADED\"}}]}" 2>&1' "$TENON"
expect_code 1 && [ "$(head -1 "$work/out")" = "half an ans" ] || fails "expected the incomplete answer on a separate line"
run tenon model test '{"provider": "scripted", "replies": [{"message": {"content": ""}, "finish_reason": "length"}]}'
expect_code 0 && expect_in err "out; the limit of tokens ended the answer (\`max_tokens\`)"
run tenon model test '{"provider": 1}'
expect_code 2 && expect_in err "expected PROVIDER:NAME, or JSON"
run tenon model test '{'
expect_code 2 && expect_in err "the model {: "
