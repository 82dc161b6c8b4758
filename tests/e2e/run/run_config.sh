# --run-config
run tenon run "$hello" --run-config '{"recursionlimit": 1}'
expect_code 2 && once 'did you mean `recursion_limit`?'
run tenon run "$hello" --run-config '{"recursion_limit": "9"}'
expect_code 2 && once "expected an integer"
run tenon run "$hello" --run-config '{"recursion_limit": -1}'
expect_code 2 && once "recursion_limit"
run tenon run "$hello" --run-config '[]'
expect_code 2 && once "expected an object"
run tenon run "$hello" --run-config '{'
expect_code 2 && once "--run-config"
run tenon run loop.yaml --run-config '{"recursion_limit": 7}'
expect_code 1 && once "has taken 7 steps" && expect_in err "[RECURSION_LIMIT]"
run tenon run loop.yaml --run-config '{"recursion_limit": 1}'
expect_code 1 && expect_in err "has taken 1 step, which"
