# `tenon thread export` and `import`
for turn in 1 2; do run tenon run count.yaml --thread one; done
run tenon thread export one
expect_code 0
cp "$work/out" one.json
run tenon thread import one.json
expect_code 1
expect_in err 'the thread `one` exists already'
run tenon thread import one.json again
expect_code 0
run tenon run count.yaml --thread again
expect_out '{"n":3,"log":["a","b1","a","b2","a","b3"]}'
run tenon replay again
expect_out "again: 9 of 9 checkpoints are identical"
echo '{"format":"tenon.thread/1","record":{"head":3},"checkpoints":[]}' >broken.json
run tenon thread import broken.json broken
expect_code 1
expect_in err "the exported thread is malformed"
run tenon thread delete again
expect_code 0
run tenon thread show again
expect_code 1
