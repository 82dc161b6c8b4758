# `tenon eval`
once() { expect_in err "$1" && [ "$(grep -c . "$work/err")" = 1 ] || fails "expected one message"; }

# ---- One expression ----
# `value_is EXPRESSION VALUE [INPUT]`: fails unless the value of the expression is VALUE
value_is() {
    run tenon eval ${3:+--input "$3"} -- "$1"
    expect_code 0 && expect_out "$2" && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
}
value_is '1 + 2' 3
value_is '-1' -1
value_is '7 / 2' 3
value_is '7.0 / 2' 3.5
value_is '1.0' 1.0
value_is '"a\nb" + r"\n"' '"a\nb\\n"'
value_is '[1, 2].map(x, x * 2)' '[2,4]'
value_is '{"a": [null, true]}' '{"a":[null,true]}'
value_is 'b"abc"' '{"$bytes":"YWJj"}'
value_is '9223372036854775807' 9223372036854775807
value_is '"🐱".size()' 1
value_is 'state.a + input.b + c' 6 '{"a": 1, "b": 2, "c": 3}'
value_is 'state' '[1,2]' '[1, 2]'
value_is 'input == state && input == 5' true 5
value_is 'state' 1 '{"state": 1}' # a member of that name comes first
value_is 'has(state.x) || default' true
printf '{"score": 93}' >input.json
value_is 'state.score > 80' true @input.json
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
wrong 1 'line 1, column 8: `/`: division by zero' '1 + (2 / 0)'
wrong 1 'did you mean `size`?' 'siez("a")'
wrong 1 'unknown key "b"; test it with has() first' state.a.b --input '{"a": {}}'
wrong 1 'the list has no item 5' 'state[5]' --input '[1]'
wrong 1 'unknown variable `nothing`' nothing
wrong 1 'found nothing, expected an expression' ''
wrong 1 'not UTF-8' $'\377'
wrong 1 'brackets are nested deeper than' "$(printf '(%.0s' {1..5000})"
wrong 1 'longer than 64 KiB' "$(printf '(%.0s' {1..100000})"
wrong 2 "--input: found the end of the text" 1 --input '{'
wrong 2 "cannot open absent.json" 1 --input @absent.json
wrong 2 "expected an expression, as in tenon eval '1 + 2'"
run tenon eval 1 2
expect_code 2 && expect_in err 'too many operands: unexpected `2`'
run tenon eval -1
expect_code 2 && expect_in err 'write -- before an operand that begins with a dash'
# The cost of an expression is bounded.
run tenon eval '[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a)))))'
expect_code 1 && expect_in err "the expression needs more than 10000 operations [LIMIT]"
run bash -c '"$TENON" eval 1 >/dev/full'
expect_code 1 && once "cannot write to standard output"

# ---- --lines ----
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
{"error":{"code":"EXPRESSION_ERROR","message":"`/`: division by zero","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"found array as `bindings`, expected {\"expr\": string, \"bindings\": object}","retryable":false}}
{"error":{"code":"EXPRESSION_ERROR","message":"unknown variable `x`","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"lines.jsonl:11:36: found the key \"a\" a second time, expected every key of an object once","retryable":false}}
{"error":{"code":"INVALID_INPUT","message":"lines.jsonl:12:1: found the byte 0xFF, expected a value","retryable":false}}
{"value":"\u0000"}
{"error":{"code":"EXPRESSION_ERROR","message":"unknown variable `state`","retryable":false}}
{"value":42}
TEXT
run tenon eval --lines lines.jsonl
expect_code 0
diff "$work/out" lines.expected >&2 || fails "the answers differ"
run bash -c '"$TENON" eval --lines <lines.jsonl'
sed 's/lines.jsonl/<stdin>/' lines.expected | diff "$work/out" - >&2 || fails "the results of <stdin> differ from those of the file"
run tenon eval --lines /dev/null
expect_code 0 && expect_out ""
run tenon eval --lines absent.jsonl
expect_code 2 && once "cannot open absent.jsonl"
for option in --raw --input=1; do
    run tenon eval --lines lines.jsonl $option
    expect_code 2 && once "cannot be used with --lines"
done

# ---- The public conformance cases ----
suite=${TENON_SUITES:-$SOURCE/../shared/suites}/cel/cases.jsonl
[ -e "$suite" ] || skips "the public cases: $suite does not exist; set TENON_SUITES"
command -v python3 >"$work/which" || skips "the public cases: python3 is not installed"
run tenon eval --lines "$suite"
expect_code 0
python3 - "$suite" "$work/out" <<'PYTHON' || fails "a public conformance case failed"
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
