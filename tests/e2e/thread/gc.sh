# `tenon thread gc` removes old threads.
run tenon run count.yaml --thread exit --durability exit
expect_code 0
run tenon thread history exit
[ "$(wc -l <"$work/out")" = 2 ] || fails "expected 2 checkpoints: the input and the end"
run tenon thread gc --older-than 36500
expect_in out "removed 0 threads"
run tenon thread gc --older-than 0 --dry-run
expect_in out "would remove"
run tenon thread gc --older-than 0
expect_code 0
run tenon thread list --status done
expect_in err "no threads"
run tenon thread gc
expect_code 2
expect_in err "limits.thread_days"
run tenon run count.yaml --thread policy
printf 'store: {use: sqlite, path: ./kept.db}\nlimits: {thread_days: 0}\n' >policy.yaml
run tenon thread gc --config policy.yaml
expect_in out "removed 1 thread and"
