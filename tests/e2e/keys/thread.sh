# The key of a step belongs to one thread forever: later, or elsewhere, another thread can have the same name.
took tenon run key.yaml --thread t $nodes
run tenon thread state t
expect_out "{\"keys\":[\"$key\"]}"

# Deleted and created again
run tenon thread delete t
expect_code 0
took tenon run key.yaml --thread t $nodes

# Collected and created again
run tenon thread gc --older-than 0 --keep 0
expect_code 0
run tenon thread show t
expect_code 1
took tenon run key.yaml --thread t $nodes

# In another database
sed 's/kept/elsewhere/' tenon.yaml >elsewhere.yaml
took tenon run key.yaml --thread t $nodes --config elsewhere.yaml

# The next turn of the thread
took tenon run key.yaml --thread t $nodes

# Forks run the last step of the source again. The second fork has the name of the first one.
for name in a b a; do
    run tenon thread fork t $name --at 2
    expect_code 0
    took tenon run key.yaml --thread $name --resume $nodes
    run tenon replay $name $nodes
    expect_code 0
    if [ "$name" = a ]; then tenon thread delete a; fi
done

# An imported thread, under its own name and under another one
run tenon thread export t
expect_code 0
cp "$work/out" t.json
took tenon run key.yaml --thread t $nodes
for name in t copy; do
    run tenon thread import t.json $name --replace
    expect_code 0
    took tenon run key.yaml --thread $name $nodes
    run tenon replay $name $nodes
    expect_code 0
done
[ ${#all[@]} = 11 ] || fails "expected 11 keys, took ${#all[@]}"
expect_different "${all[@]}"
