# `tenon doctor` examines the store.
for thread in one two; do run tenon run count.yaml --thread $thread; done
printf 'store: {use: sqlite, path: ./single.db}\n' >single.yaml
run tenon run count.yaml --thread single --config single.yaml --durability exit
run tenon doctor --config single.yaml
expect_in out "single.db: 1 thread" && expect_not_in out "single.db: 1 threads"
run tenon doctor
expect_in out "kept.db: "
expect_in out " threads"
printf 'no database' >broken.db
printf 'store: {use: sqlite, path: ./broken.db}\n' >broken.yaml
run tenon doctor --config broken.yaml
expect_code 4
expect_in out "broken.db"
for command in "thread list" "thread show one" "run count.yaml --thread one" "task list" "memory search n"; do
    run tenon $command --config broken.yaml
    expect_code 4 && expect_in err "[STORE_CORRUPT]"
done
run tenon thread list --config broken.yaml
expect_code 4
[ "$(cat broken.db)" = "no database" ] || fails "doctor wrote to a file that is not a database"
