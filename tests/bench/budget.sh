#!/usr/bin/env bash
# Fails if a run needs more instructions than its budget: budget.sh PROGRAM WORKLOAD LOW HIGH BUDGET
#
# callgrind counts the instructions of LOW runs and of HIGH runs. The difference leaves out everything that happens once,
# and does not depend on how busy the machine is. CMakeLists.txt has the budgets.
set -euo pipefail
[ $# = 5 ] || { echo "usage: budget.sh PROGRAM WORKLOAD LOW HIGH BUDGET" >&2; exit 2; }
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }

count() { # RUNS
    local output
    output=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$workload" "$1" --warmup=20 2>&1) ||
        { echo "$output" >&2; exit 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$output"
}

program=$1 workload=$2 low=$3 high=$4 budget=$5
few=$(count "$low") many=$(count "$high")
each=$(((many - few) / (high - low)))
echo "$workload: $each instructions a run, at most $budget"
[ "$each" -gt 0 ] && [ "$each" -le "$budget" ]
