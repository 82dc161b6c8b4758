# `tenon tool list`, `show` and `search`
run tenon tool list "${plugin[@]}"
expect_code 0 && expect_in out "t.add " && expect_in out "auto  Adds. (test.nodes)"
expect_in out "ask   Deletes a file. (test.nodes)" && expect_in out "destructive, fs.write:/data"
expect_in out "ask   Says not what it does." && expect_in out "                       unknown"
run tenon tool list "${plugin[@]}" --json
expect_in out '"tool_name":"t.add","description":"Adds two integers, exactly.","input_schema":{'
expect_in out '"implementation_ref":"test.nodes/t.add","approval":"auto","title":"Adds.","plugin":"test.nodes"'
run tenon tool show t.delete "${plugin[@]}"
expect_in out "t.delete: Deletes a file." && expect_in out "effects: destructive, fs.write:/data"
expect_in out 'approval: ask, as it declares the effect `destructive`' && expect_in out "    path               string, required" && expect_in out "which file"
run tenon tool show t.add "${plugin[@]}" --json
expect_in out '"output_schema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}'
run tenon tool show t.addd "${plugin[@]}"
expect_code 2 && expect_in err 'did you mean `t.add`?'
run tenon tool search "exactly ADD" "${plugin[@]}"
expect_code 0 && expect_in out "t.add" && expect_not_in out "t.delete"
run tenon tool search "delete" "${plugin[@]}"
[ "$(grep -o '^[a-z.]*delete' "$work/out" | head -2 | tr '\n' ' ')" = "memory.delete t.delete " ] || fails "expected the tools with this word in their name first"
run tenon tool search "nothing has these words"
expect_code 0 && expect_out "" && expect_in err "no tool contains all of these words"
