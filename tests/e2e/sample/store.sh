# samples/store: its README's commands; kill -9, a torn line, a full disk, several processes, damage, a foreign file.
install_tenon
cp -r "$SOURCE/samples/store" store
cd store
readme_commands README.md "sh build" | grep -v ctest >build.sh # plugin_check_store.sh runs the check
quietly sh -eu build.sh
readme_commands README.md "sh run" >run.sh
quietly sh -eu run.sh
grep -q '^ada  *done' "$work/log" && grep -q 'ada: 2 of 2 checkpoints are identical' "$work/log" || { cat "$work/log"; fails "the README's commands"; }
head -n 1 records/log | grep -q '{"format":"acme.folder","version":1}' || fails "the log does not begin with its version"
run tenon thread list
expect_in out ada && expect_in out bob # the isolated run

# Killed in a run: what was committed is there, and the run can be resumed.
cat >slow.yaml <<'EOF'
version: "1.0"
channels: [{name: x, type: last_value}, {name: y, type: last_value}]
nodes:
  - {id: a, type: set, config: {values: {x: 1}}}
  - {id: wait, type: delay, config: {ms: 1500}}
  - {id: b, type: set, config: {values: {y: "state.x + 1"}}}
edges: [{from: START, to: a}, {from: a, to: wait}, {from: wait, to: b}, {from: b, to: END}]
EOF
"$TENON" run slow.yaml --thread killed >/dev/null 2>&1 &
killed=$!
disown
wait_until grep -q '"k":"killed/0*1"\|"c":"checkpoints","k":"killed' records/log
kill -9 "$killed"
expect_ended "$killed" "the run was not killed"
printf '0badbad0 [{"c":"thre' >>records/log # as if it had died in a commit
run tenon thread list
expect_code 0 && expect_in out killed
run tenon run slow.yaml --thread killed --resume
expect_code 0 && expect_out '{"x":1,"y":2}'
grep -q 0badbad0 records/log && fails "the torn line is still there"

# A full disk: the run fails, and everything before it stays. When threads were deleted, the log becomes shorter.
kib=$(($(stat -c %s records/log) / 1024 + 1))
within() { run bash -c "ulimit -f $kib; exec \"\$@\"" within "$@"; }
big=$(head -c 20000 /dev/zero | tr '\0' x)
within tenon run tenon:hello --thread big --set "name=$big"
expect_code 1 && expect_in err "[STORE_FULL]"
run tenon replay killed
expect_code 0
for i in 1 2 3 4 5 6; do
    within tenon run tenon:hello --thread "small$i" --set name=Ada
    expect_code 0
    within tenon thread delete "small$i"
    expect_code 0
done

# Several processes write at the same time; one that holds the lock for too long is reported.
pids=()
for i in 1 2 3 4; do
    "$TENON" run tenon:hello --thread "many$i" --quiet >/dev/null 2>"$work/many$i" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || { cat "$work"/many*; fails "a process among several failed"; }; done
run tenon thread list
[ "$(grep -c '^many' "$work/out")" = 4 ] || fails "a thread is missing"
sed 's|^store:|store:\n  busy_ms: 20|' tenon.yaml >busy.yaml
run flock records/lock tenon thread list --config busy.yaml
expect_code 1 && expect_in err "[STORE_BUSY]"

# Damage is reported with its place, and nothing is written.
sed -i '2s/greet/treat/' records/log
cp records/log before
run tenon thread list
expect_code 4 && expect_in err "/records/log: the line at byte 46 is damaged" && expect_in err "[STORE_CORRUPT]"
cmp records/log before || fails "a damaged log was changed"

# The file of another program is not overwritten; a log whose first line is torn is one of this store.
mkdir -p foreign
sed 's|path: records/|path: foreign/|' tenon.yaml >foreign.yaml
for text in 'my diary\n' 'my diary' '0badbad0 {"format":"other"}\n'; do
    # shellcheck disable=SC2059
    printf "$text" >foreign/log
    cp foreign/log before
    run tenon run tenon:hello --thread z --config foreign.yaml
    expect_code 4 && expect_in err "/foreign/log does not begin as a log of this store" && expect_in err "[STORE_CORRUPT]"
    cmp foreign/log before || fails "the file of another program was changed"
done
head -c 20 records/log >foreign/log
run tenon run tenon:hello --thread z --config foreign.yaml
expect_code 0
cmp <(head -n 1 foreign/log) <(head -n 1 records/log) || fails "the torn first line was not written again"

# Without the operator's permission the draft is not available.
grep -v drafts tenon.yaml >none.yaml
run tenon thread list --config none.yaml
expect_code 1 && expect_in err 'plugins: {drafts: [acme.folder]}'
