# `tenon eval`: an expression, and many.
once() { expect_in err "$1" && [ "$(grep -c . "$work/err")" = 1 ] || fails "expected one message"; }

# ---- One ----
# gives EXPRESSION VALUE [INPUT]
gives() {
    run tenon eval ${3:+--input "$3"} -- "$1"
    expect_code 0 && expect_out "$2" && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
}
gives '1 + 2' 3
gives '-1' -1
gives '7 / 2' 3
gives '7.0 / 2' 3.5
gives '1.0' 1.0
gives '"a\nb" + r"\n"' '"a\nb\\n"'
gives '[1, 2].map(x, x * 2)' '[2,4]'
gives '{"a": [null, true]}' '{"a":[null,true]}'
gives 'b"abc"' '{"$bytes":"YWJj"}'
gives '9223372036854775807' 9223372036854775807
gives '"🐱".size()' 1
gives 'state.a + input.b + c' 6 '{"a": 1, "b": 2, "c": 3}'
gives 'state' '[1,2]' '[1, 2]'
gives 'input == state && input == 5' true 5
gives 'state' 1 '{"state": 1}' # a member of that name comes first
gives 'has(state.x) || default' true
printf '{"score": 93}' >input.json
gives 'state.score > 80' true @input.json
run bash -c '"$TENON" eval state.score -i - <input.json'
expect_code 0 && expect_out 93
run tenon eval '"a\nb"' --raw
expect_out $'a\nb'
run tenon eval '["a\nb"]' -r
expect_out '["a\nb"]'

# wrong CODE MESSAGE EXPRESSION [ARGUMENT…]
wrong() {
    local wanted=$1 message=$2
    shift 2
    run tenon eval "$@"
    expect_code "$wanted" && expect_out "" && once "$message"
}
wrong 1 'line 1, column 4: the expression ends where a value is expected' '1 +'
wrong 1 'line 3, column 3: found `*`' $'\n  1 +\n  * 2'
wrong 1 'line 1, column 6: the expression ends' '"🐱" +'
wrong 1 'line 1, column 8: `/` by zero' '1 + (2 / 0)'
wrong 1 'did you mean `size`?' 'siez("a")'
wrong 1 'there is no key "b"; has() asks first' state.a.b --input '{"a": {}}'
wrong 1 'there is no item 5' 'state[5]' --input '[1]'
wrong 1 'there is no variable `nothing`' nothing
wrong 1 'an expression is expected, found nothing' ''
wrong 1 'not UTF-8' $'\377'
wrong 1 'brackets are nested deeper than' "$(printf '(%.0s' {1..5000})"
wrong 1 'longer than 64 KiB' "$(printf '(%.0s' {1..100000})"
wrong 2 "--input: found the end of the text" 1 --input '{'
wrong 2 "cannot open absent.json" 1 --input @absent.json
wrong 2 "expected an expression, as in tenon eval '1 + 2'"
run tenon eval 1 2
expect_code 2 && expect_in err 'too many arguments, from `2` on'
run tenon eval -1
expect_code 2 && expect_in err 'write -- before what begins with a dash'
# What an expression may cost is bounded.
run tenon eval '[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a)))))'
expect_code 1 && expect_in err "operations"
run bash -c '"$TENON" eval 1 >/dev/full'
expect_code 1 && once "cannot write to standard output"

# ---- Lines ----
printf '%s\n' '{"expr": "1 + 1"}' '' '{"expr": "a + b", "bindings": {"a": 1, "b": 2}, "name": "any"}' 'not json' '{"expr": 5}' '{}' '[1]' \
    '{"expr": "1 / 0"}' '{"expr": "1", "bindings": []}' '{"expr": "x", "bindings": {}}' '{"expr": "a", "bindings": {"a": 1, "a": 2}}' \
    $'\377' '{"expr": "\"\\u0000\""}' '{"expr": "state"}' >lines.jsonl
printf '{"expr": "6 * 7"}' >>lines.jsonl # no line end
cat >lines.expected <<'TEXT'
{"value":2}
{"value":3}
{"error":{"code":"INVALID_INPUT","message":"lines.jsonl:4:1: found `not`, expected a value: the words of JSON are `true`, `false` and `null`","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"found int as `expr`, expected {\"expr\": string, \"bindings\": object}","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"found nothing as `expr`, expected {\"expr\": string, \"bindings\": object}","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"found array, expected {\"expr\": string, \"bindings\": object}","retryable":false}}
{"error":{"code":"EXPRESSION_ERROR","message":"`/` by zero","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"found array as `bindings`, expected {\"expr\": string, \"bindings\": object}","retryable":false}}
{"error":{"code":"EXPRESSION_ERROR","message":"there is no variable `x`","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"lines.jsonl:11:36: found the key \"a\" a second time, expected every key of an object once","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"lines.jsonl:12:1: found the byte 0xFF, expected a value","retryable":false}}
{"value":"\u0000"}
{"error":{"code":"EXPRESSION_ERROR","message":"there is no variable `state`","retryable":false}}
{"value":42}
TEXT
run tenon eval --lines lines.jsonl
expect_code 0
diff "$work/out" lines.expected >&2 || fails "the answers differ"
run bash -c '"$TENON" eval --lines <lines.jsonl'
sed 's/lines.jsonl/<stdin>/' lines.expected | diff "$work/out" - >&2 || fails "the answers differ from standard input"
run tenon eval --lines /dev/null
expect_code 0 && expect_out ""
run tenon eval --lines absent.jsonl
expect_code 2 && once "cannot open absent.jsonl"
for option in --raw --input=1; do
    run tenon eval --lines lines.jsonl $option
    expect_code 2 && once "does not go with --lines"
done

# ---- The public cases, through the program ----
suite=${TENON_SUITES:-$SOURCE/../shared/suites}/cel/cases.jsonl
[ -e "$suite" ] || skips "the rest: there is no $suite; set TENON_SUITES"
command -v python3 >"$work/which" || skips "the rest: there is no python3"
run tenon eval --lines "$suite"
expect_code 0
python3 - "$suite" "$work/out" <<'PYTHON' || fails "the public cases"
import json, sys
def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    return type(a) is type(b) and a == b
cases = [json.loads(line) for line in open(sys.argv[1]) if line.strip()]
answers = [json.loads(line) for line in open(sys.argv[2])]
assert len(cases) == len(answers) and cases, (len(cases), len(answers))
wrong = 0
for case, answer in zip(cases, answers):
    good = "error" in answer if case.get("error") else "value" in answer and same(case["value"], answer["value"])
    if not good:
        wrong += 1
        print(case, answer, file=sys.stderr)
print(f"{len(cases) - wrong} of {len(cases)} public cases")
sys.exit(wrong > 0)
PYTHON
