# `tenon tool call`
run tenon tool call t.add '{"a": 1}' --set b=41 "${plugin[@]}"
expect_code 0 && expect_out '{"sum":42}'
printf '{"a": 1, "b": 2}' >given.json
run tenon tool call t.add @given.json "${plugin[@]}"
expect_out '{"sum":3}'
run tenon tool call t.add "${plugin[@]}" --set a=1 --set c=2
expect_code 2 && expect_in err 'missing property `b`' && expect_in err 'unknown property `c`'
run tenon tool call t.add '[1]' "${plugin[@]}"
expect_code 2 && expect_in err "expected an object"
run tenon tool call t.add '{' "${plugin[@]}"
expect_code 2
run tenon tool call t.nothing "${plugin[@]}"
expect_code 2 && expect_in err "TOOL_NOT_FOUND"
run tenon tool call t.fail "${plugin[@]}"
expect_code 1 && expect_in err "it broke [BROKEN]" && expect_out ""
run tenon tool call t.wrong "${plugin[@]}"
expect_code 1 && expect_in err "INVALID_OUTPUT"
run tenon tool call t.huge "${plugin[@]}"
expect_code 1 && expect_in err "[LIMIT]"
run tenon tool call t.block --set n=1 "${plugin[@]}"
expect_out 2
run tenon tool call t.delete --set path=x "${plugin[@]}"
expect_code 5 && expect_in err "approve it with --yes" && expect_out ""
run tenon tool call t.delete --set path=x --yes "${plugin[@]}"
expect_code 0 && expect_out "deleted x"
run tenon tool call t.delete --set path=x --yes --json "${plugin[@]}"
expect_out '"deleted x"'
run tenon tool call t.slow --set ms=1 "${plugin[@]}"
expect_code 0
# A tool asks a question without a terminal.
run tenon tool call t.ask --yes "${plugin[@]}"
expect_code 5 && expect_out "" && expect_in err '`t.ask` waits for answers' && expect_in err '"payload":"which one?"'
expect_in err "Call it at a terminal" && expect_in err "tenon thread answer"
[ "$(wc -l <"$work/err")" = 1 ] || fails "expected one message"
last="call with a pipe" code=0
echo '{"a": 2, "b": 2}' | tenon tool call t.add - "${plugin[@]}" >"$work/out" 2>"$work/err" || code=$?
expect_code 0 && expect_out '{"sum":4}'
