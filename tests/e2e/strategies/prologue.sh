# handles STRATEGY MODEL INPUT [ARGUMENT…]: runs a strategy with the binding MODEL of the role `default`.
handles() { run tenon run -q "tenon:$1" --model "default=$2" --input "$3" "${@:4}"; }
# A strategy keeps the contract, is formatted, and can be drawn.
is_strategy() {
    local file
    run tenon check --strict --strategy "tenon:$1"
    expect_code 0
    for file in "$SOURCE/plugins/strategies/$1"/*.yaml; do
        run tenon fmt --check "$file"
        expect_code 0
    done
    run tenon graph --inside "tenon:$1"
    expect_code 0
}
# answers FIELD: prints a member of the result, as JSON.
answers() { python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))[sys.argv[2]], ensure_ascii=False))' "$work/out" "$1"; }
expect_answer() { [ "$(answers "$1")" = "$2" ] || fails "expected $1 to be $2"; }
command -v python3 >/dev/null || skips "python3 is not installed"
