# `tenon store copy` and `migrate`: what is copied, what is refused, and a target that is full.
command -v python3 >/dev/null || skips "there is no python3"
printf 'store: {use: sqlite, path: ./s.db}\nwork: {job: {strategy: ./job.yaml}}\n' >tenon.yaml
cp "$SOURCE/samples/hello/hello.yaml" "$SOURCE/tests/bench/work/job.yaml" .
python() { python3 - "$@"; }
# at FOLDER COMMAND…: runs tenon with another folder's configuration
at() { (cd "$1" && shift && "$TENON" "$@" 2>&1); }
for folder in copy again; do mkdir $folder && printf 'store: {use: sqlite, path: ./t.db}\n' >$folder/tenon.yaml; done
refused() { expect_code "$1" && expect_in err "$2" && expect_out ""; }

# ---- A store that does not exist yet, and one that exists ----
run "$TENON" store migrate
expect_code 0 && expect_in out "created, with the format "
run "$TENON" store migrate s.db
expect_code 0 && expect_in out "current: the format is "
run "$TENON" store copy s.db copy/t.db
expect_code 0 && expect_in out "copied 0 records of 0 collections"

# ---- Threads, Tasks, memories that are found by words, a body in several records ----
for name in one two; do "$TENON" run hello.yaml --set name=$name --thread $name >>log; done
"$TENON" memory put users/ada food '{"likes": "pizza and PASTA"}'
task=$("$TENON" task create job)
python <<'PY'
with open("big", "wb") as file: file.write(bytes(range(256)) * 4000)
PY
artifact=$("$TENON" artifact write big)
run "$TENON" store copy . copy --quiet
expect_code 0 && expect_in out " collections to $PWD/copy/tenon.yaml; both have the SHA-256 "
hash=$(grep -o '[0-9a-f]*$' "$work/out")
for command in "thread list" "thread history one" "thread export two" "task show $task --json" "memory search users --query pasta --json" "artifact list"; do
    [ "$(at . $command)" = "$(at copy $command)" ] || fails "differs in the copy: $command"
done
[ -n "$(at copy memory search users --query pasta)" ] || fails "the words of a memory are not copied"
at copy artifact read "$artifact" | cmp - big || fails "the body differs"
run "$TENON" store copy copy/t.db '{"use": "memory"}'
expect_code 0 && expect_in out "to memory; both have the SHA-256 $hash"

# ---- Refusals ----
run "$TENON" store copy s.db copy/t.db
refused 1 "is not empty: it has 1 records in \`artifacts\`; delete them with --replace, or choose another target [CONFLICT]"
run "$TENON" store copy none.db new.db
refused 2 "none.db: No such file or directory; expected the file of a store"
[ ! -e none.db ] && [ ! -e new.db ] || fails "a file was created"
run "$TENON" store copy s.db none.yaml
refused 2 "none.yaml: No such file or directory"
run "$TENON" store copy big new.db
refused 4 "STORE_CORRUPT"
run "$TENON" store copy s.db big
refused 4 "STORE_CORRUPT"
cmp -s big <(at copy artifact read "$artifact") || fails "the file was changed"
run "$TENON" store copy s.db '{"use": "nothing"}'
refused 4 "no plugin provides the store \`nothing\`"
run "$TENON" store copy s.db '{"use": 5}'
refused 2 "must be an object with \`use\`"
run "$TENON" store copy s.db '{"use"'
refused 2 ""
run "$TENON" store copy s.db no/such/folder.yaml
refused 2 "No such file or directory"
run "$TENON" store copy s.db 'postgresql://user:hunter2@127.0.0.1:1/x?password=hunter3'
[ "$code" != 0 ] || fails "there is no server"
expect_not_in err hunter
run "$TENON" store copy s.db s.db
refused 1 "is not empty"
ln -s s.db link.db
run "$TENON" store copy --replace s.db link.db
refused 1 "are the same store [INVALID]"
[ "$(at . thread list | wc -l)" = 2 ] || fails "the store lost records"
run "$TENON" store copy --replace s.db copy/t.db
expect_code 0 && expect_in out "$hash"

# ---- A target that is full: no host uses it, and the same copy continues ----
cp s.db changed.db
run "$TENON" store copy s.db '{"use": "sqlite", "path": "again/t.db", "max_bytes": 400000}'
refused 1 "[STORE_FULL]"
run at again thread list
expect_code 4 && expect_in out "the target of a copy that has not ended" && expect_in out "$PWD/s.db again, which continues it [STORE_INCOMPLETE]"
run at again run ../hello.yaml --set name=x --thread x
[ "$code" != 0 ] || fails "a host has used an incomplete store"
run "$TENON" store copy again/t.db new.db
refused 4 "is the target of a copy that has not ended; finish that one first"
run "$TENON" store copy copy/t.db again/t.db
refused 1 "has an unfinished copy of $PWD/s.db; finish that one, or replace it with --replace"
# The source changes before the copy is continued.
cp again/t.db again/before.db
"$TENON" memory put users/ada food '"soup"'
"$TENON" task create job >>log
run "$TENON" store copy s.db again/t.db
expect_code 0 # neither had been copied
"$TENON" task create job >>log
cp again/before.db again/t.db
"$TENON" artifact write hello.yaml >>log
"$TENON" task update "$task" '{"payload": {"n": 1}}' >>log
run "$TENON" store copy s.db again/t.db
expect_code 0
run "$TENON" store copy --replace s.db again/t.db
expect_code 0

# ---- A host uses a store ----
"$TENON" work --types job --quiet 2>"$work/worker.err" &
worker=$! && servers+=("$worker")
# Into memory: a copy that the worker interrupts in the middle leaves no unfinished store.
is_refused() { "$TENON" store copy s.db '{"use": "memory"}' >"$work/out" 2>"$work/err" && return 1; grep -q "a host uses $PWD/s.db: process $worker on" "$work/err"; }
wait_until is_refused
run "$TENON" store copy --replace copy/t.db s.db
refused 1 "a host uses $PWD/s.db: process $worker on"
run "$TENON" store copy --replace --while-used copy/t.db s.db
refused 1 "a host uses $PWD/s.db: process $worker on"
is_idle() { [ "$(at . task list --json | grep -o '"state":"\(done\|failed\)"' | wc -l)" = 3 ]; }
wait_until is_idle
run "$TENON" store copy --replace --while-used s.db copy/t.db
expect_code 0
kill "$worker" && { wait "$worker" || fails "the worker failed: $(cat "$work/worker.err")"; }
run "$TENON" store copy --replace s.db copy/t.db # its entry is gone
expect_code 0
