# A thread continues with its state; two threads are independent.
run tenon thread list
expect_code 0
expect_in err "no threads"
for turn in 1 2; do run tenon run count.yaml --thread one; expect_code 0; done
expect_out '{"n":2,"log":["a","b1","a","b2"]}'
run tenon run count.yaml --thread other/one
expect_out '{"n":1,"log":["a","b1"]}'
run tenon thread show one
expect_in out "status       done"
expect_in out "step         4, checkpoint 5"
run tenon thread list --json
[ "$(wc -l <"$work/out")" = 2 ] || fails "expected 2 threads"
run tenon thread list --status interrupted
expect_in err "no threads"
run tenon thread history one
[ "$(wc -l <"$work/out")" = 6 ] || fails "expected 6 checkpoints"
expect_in out "     1  step 1      step    a  then b"
run tenon thread state one --at 1
expect_out '{"n":1,"log":["a"]}'
run tenon thread state one
expect_out '{"n":2,"log":["a","b1","a","b2"]}'
run tenon thread state one --at 6
expect_code 1
expect_in err "has no checkpoint 6: its newest is 5"
run tenon thread state nobody
expect_code 1
expect_in err 'the thread `nobody` does not exist'
