#!/usr/bin/env bash
# Tests the script `budget` with a valgrind that counts what the test says.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
# Counts 5000 + UNIT for each unit; UNIT is in a file, one line for each call, and the last one for all others. A unit of
# `broken` fails the program.
cat >"$work/bin/valgrind" <<EOF
#!/bin/sh
unit=\$(head -n 1 "$work/unit")
[ "\$(wc -l <"$work/unit")" = 1 ] || sed -i 1d "$work/unit"
[ "\$unit" != broken ] || { echo "the program failed" >&2; exit 3; }
for last in "\$@"; do :; done
echo "==1== Collected : \$((5000 + last * unit))" >&2
EOF
chmod +x "$work/bin/valgrind"
printf '#!/bin/sh\n' >"$work/program"
chmod +x "$work/program"
touch "$work/libsteady.so"
export PATH="$work/bin:$PATH" TENON_BUDGETS="$work/budgets" TENON_BUDGET_COMPILER="GNU 12.2.0"
printf '# Compiler: GNU 12.2.0\nfirst 1000 10 20 program a {N}\nsecond 77 1 2 program b {N}\nbroken 10 20 10 program c {N}\n' >"$TENON_BUDGETS"

# expect STATUS UNIT TEXT ARGUMENT…: the exit status, and a part of the output.
expect() {
    local status=$1 text=$3 output outcome=0
    echo "$2" >"$work/unit"
    output=$("$here/budget" "${@:4}" 2>&1) || outcome=$?
    if [ "$outcome" != "$status" ] || [[ $output != *"$text"* ]]; then
        echo "budget ${*:4} with $2: exit $outcome, expected $status and \`$text\`:" >&2
        echo "$output" >&2
        exit 1
    fi
}
expect 0 1000 "first: 1000 instructions, budget 1000 (+0.0 %)" check "$work" first
expect 0 1030 "(+3.0 %)" check "$work" first
expect 1 1031 "more than 3 % above" check "$work" first
expect 0 $'1040\n1040\n1035\n1035\n1010' "first: 1010 instructions" check "$work" first
expect 1 $'1032\n1032\n1060' "first: 1032 instructions" check "$work" first
expect 0 970 "(-3.0 %)" check "$work" first
expect 0 969 "more than 3 % below" check "$work" first
expect 1 1031 "more than 3 % above" check "$work" second first
expect 1 0 "nothing was measured" check "$work" first
expect 1 broken "the program failed" check "$work" first
expect 2 1000 "not one line" check "$work" third
expect 2 1000 "is not NAME COUNT LOW HIGH" check "$work" broken
expect 2 1000 "has no libsteady.so" check "$work/bin" first
expect 2 1000 "tests/bench/budget check" check "$work"
TENON_BUDGET_COMPILER="GNU 13.1.0" expect 77 9999 "counted with GNU 12.2.0" check "$work" first
TENON_BUDGET_COMPILER="GNU 13.1.0" expect 0 1500 "first 1500 (in the file: 1000)" renew "$work" first
printf '# Compiler: GNU 13.1.0\nfirst 1500 10 20 program a {N}\nsecond 77 1 2 program b {N}\nbroken 10 20 10 program c {N}\n' |
    diff - "$TENON_BUDGETS"
rm "$work/program"
TENON_BUDGET_COMPILER="GNU 13.1.0" expect 77 1000 "was not built" check "$work" second
