# Help, usage mistakes and exit codes of every command.
once() { expect_in err "$1" && [ "$(grep -c '^tenon: ' "$work/err")" = 1 ] || fails "expected one message"; }

run tenon --help
expect_code 0 && expect_in out "Exit codes: 0 done, 1 run failed, 2 usage, 3 document invalid, 4 plugin problem, 5 waiting"
cp "$work/out" overview
for same in -h help "help -h" "help --help"; do
    # shellcheck disable=SC2086 # two words
    run tenon $same
    expect_code 0 && expect_out "$(cat overview)"
done
run tenon
expect_code 2 && expect_out "" && [ "$(cat "$work/err")" = "$(cat overview)" ] || fails "expected the same on standard error"
run tenon --version
expect_code 0 && grep -qE '^tenon [0-9]+\.[0-9]+\.[0-9]+$' "$work/out" || fails "expected tenon X.Y.Z"

mapfile -t commands < <(sed -n "/^Commands:/,/^$/s/^  \([a-z]\+\( [a-z]\+\)\?\)  *.*/\1/p" overview)
[ "${#commands[@]}" -ge 12 ] || fails "expected at least 12 commands, found: ${commands[*]}"
grep -q '^  run ' overview && grep -q '^  plugin list ' overview && grep -q '^  doctor ' overview || fails "the overview lacks run, plugin list or doctor"
# A sanitizer makes a start take ten times as long: then only some of the commands are tried.
[ -z "$SANITIZE" ] || commands=("${commands[0]}" "${commands[7]}" "${commands[11]}")
for i in "${!commands[@]}"; do
    command=${commands[i]}
    # What is the same code for all commands is tried with a third of them.
    forms=("$command --help")
    [ $((i % 3)) != 0 ] || forms+=("$command -h" "help $command" "$command anything --no-such-option --help")
    for form in "${forms[@]}"; do
        # shellcheck disable=SC2086
        run tenon $form
        expect_code 0 && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
        expect_in out "Usage: tenon $command" && expect_in out "Options of every command:"
        sed '1,/^Example:/d' "$work/out" | grep -qF "\$ tenon $command" || fails "expected an example of tenon $command"
        awk 'length > 140' "$work/out" | grep -q . && fails "a line of the help is longer than 140 bytes"
    done
    [ $((i % 3)) = 0 ] || continue
    while IFS='|' read -r wrong message; do
        # shellcheck disable=SC2086
        run tenon $command x $wrong
        expect_code 2 && expect_out "" && once "$message" && expect_in err "See \`tenon $command --help\`."
    done <<'TABLE'
--no-confgi|unknown option `--no-confgi`; did you mean `--no-config`?
-Z|unknown option `-Z`
--no-config=1|option `--no-config` takes no value
--plugins|option `--plugins` needs a value
-5|found `-5`, expected an option; write -- before an operand that begins with a dash
TABLE
    # shellcheck disable=SC2086
    run tenon $command --colr never
    expect_code 2 && once 'did you mean `--color`?'
    # shellcheck disable=SC2086
    run tenon $command --color sometimes x
    expect_code 2
    # shellcheck disable=SC2086
    run bash -c '"$TENON" "$@" --help >/dev/full' - $command
    expect_code 1 && once "cannot write to standard output: No space left on device"
done

# Groups.
for form in "plugin --help" "help plugin"; do
    # shellcheck disable=SC2086
    run tenon $form
    expect_code 0 && expect_in out "plugin check" && expect_in out "Example:" && [ ! -s "$work/err" ] || fails "expected the help of the group on standard output"
done
run tenon plugin
expect_code 2 && expect_out "" && expect_in err "plugin check"

# mistaken WORDS MESSAGE
mistaken() {
    # shellcheck disable=SC2086
    run tenon $1
    expect_code 2 && expect_out "" && once "$2" && expect_in err "See \`tenon"
}
mistaken runn 'unknown command `runn`; did you mean `run`?'
mistaken chekc 'did you mean `check`?'
mistaken "plugin lsit" 'unknown command `plugin lsit`; did you mean `plugin list`?'
mistaken "help runn" 'did you mean `run`?'
mistaken "xyzzy --help" 'unknown command `xyzzy`'
mistaken "--no-config run x.yaml" "found the option \`--no-config\`, expected a command first"
mistaken "run x.yaml --strem values" 'unknown option `--strem`; did you mean `--stream`?'
mistaken "run x.yaml --json=yes" 'option `--json` takes no value'
mistaken "run x.yaml --input" 'option `--input` needs a value'
mistaken "run x.yaml -i" 'option `-i` needs a value'
mistaken "run x.yaml -qx" 'unknown option `-x`'
mistaken "check -x.yaml" 'unknown option `-x`; write -- before an operand that begins with a dash, as in `-- -x.yaml`'
mistaken run "expected FILE"
mistaken check "expected FILE"
mistaken "run a b" 'too many operands: unexpected `b`'
mistaken "schema node x" 'too many operands: unexpected `x`'
mistaken "$(printf 'a%.0s' {1..5000})" "unknown command"
run tenon ''
expect_code 2 && once "unknown command"
run tenon $'r\033[31mn'
expect_code 2 && once "<U+001B>"
run tenon run "--$(printf '\033')x"
expect_code 2 && once "<U+001B>"
run tenon run -- --help
expect_code 2 && once "cannot open --help"
