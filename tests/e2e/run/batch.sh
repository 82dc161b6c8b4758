# --batch
printf '%s\n' '{"name": "a"}' '' '{"nam": "b"}' '{bad' '[1]' '{"name": "c"}' >lines.jsonl
run tenon run "$hello" --batch lines.jsonl --concurrency 2
expect_code 1 && once "3 of 5 runs failed"
[ "$(wc -l <"$work/out")" = 5 ] || fails "expected a line for each input"
sed -n 1p "$work/out" | grep -qxF '{"output":{"name":"a","greeting":"Hello, a!"}}' || fails "unexpected line 1"
sed -n 2p "$work/out" | grep -qF 'did you mean `name`?' || fails "unexpected line 2"
sed -n 3p "$work/out" | grep -qF '"message":"lines.jsonl:4:2: found `bad`, expected a key in double quotes"' || fails "unexpected line 3"
sed -n 4p "$work/out" | grep -qF 'array' || fails "unexpected line 4"
sed -n 5p "$work/out" | grep -qxF '{"output":{"name":"c","greeting":"Hello, c!"}}' || fails "unexpected line 5"
run tenon run "$hello" --batch lines.jsonl --json
expect_code 1 && [ "$(wc -l <"$work/out")" = 5 ] || fails "expected a line for each input"
sed -n 1p "$work/out" | grep -qxF '{"type":"result","line":1,"output":{"name":"a","greeting":"Hello, a!"}}' || fails "unexpected line 1"
sed -n 2p "$work/out" | grep -q '^{"type":"result","line":3,"error":{' || fails "unexpected result of line 3, which follows a blank line"
sed -n 3p "$work/out" | grep -q '^{"type":"result","line":4,"error":{' || fails "unexpected result of line 4, which is not JSON"
sed -n 5p "$work/out" | grep -q '^{"type":"result","line":6,"output":{' || fails "unexpected result of line 6"
for i in $(seq 500); do echo "{\"output\":{\"name\":$i,\"greeting\":\"Hello, $i!\"}}"; done >many.expected
for n in 1 7 1000; do
    run tenon run "$hello" --batch many.jsonl -j $n
    expect_code 0 && quiet
    cmp -s "$work/out" many.expected || fails "unexpected order of results with a concurrency of $n"
done
run bash -c '"$TENON" run "$1" --batch - <many.jsonl' - "$hello"
cmp -s "$work/out" many.expected || fails "unexpected results of standard input"
run tenon run "$hello" --batch absent.jsonl
expect_code 2 && once "absent.jsonl"
run tenon run "$hello" --batch /dev/null
expect_code 0 && expect_out ""
for n in 0 -1 x '' 1e3 99999999999999999999; do
    run tenon run "$hello" --batch many.jsonl --concurrency "$n"
    expect_code 2 && once "expected a whole number from 1 to 100000"
done
run tenon run "$hello" --batch many.jsonl --set name=x
expect_code 2 && once "--set cannot be used with --batch"
run tenon run "$hello" --concurrency 2
expect_code 2 && once "--concurrency"
for option in --resume --replace --accept-changes "--answer a=b" "--durability exit" --force; do
    run tenon run "$hello" --batch many.jsonl $option
    expect_code 2 && once "${option%% *} needs --thread ID"
    expect_out ""
done
