# Stores in a separate process: tenon.sqlite, and samples/python/store.py, which is a program.
command -v python3 >/dev/null || skips "python3 is not installed"
hello=$SOURCE/samples/hello/hello.yaml said='{"name":"Ada","greeting":"Hello, Ada!"}'

# ---- tenon.sqlite ----
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    mkdir sqlite
    printf 'plugins: {isolation: {tenon.sqlite: process}}\nstore: {path: sqlite/}\n' >tenon.yaml
    run tenon run "$hello" --thread ada --set name=Ada
    expect_code 1 && expect_in err "Is a directory" # a store of one file
    printf 'store: {path: sqlite/tenon.db}\n' >tenon.yaml
    run tenon run "$hello" --thread ada --set name=Ada --isolate tenon.sqlite
    expect_code 0 && expect_out "$said"
    [ ! -s "$work/err" ] || fails "expected nothing on standard error: the sandbox must allow what SQLite does"
    run tenon replay ada # in this process
    expect_code 0 && expect_out "ada: 2 of 2 checkpoints are identical"
    touch sqlite/other
    run tenon run "$hello" --thread ada --set name=Ada --isolate tenon.sqlite
    expect_code 1 && expect_in err 'but `other`, which is in it, does not belong to the store: give the store a folder for itself'
    run tenon plugin list --isolate tenon.sqlite
    expect_code 0 && grep -A3 '^tenon.sqlite' "$work/out" | grep -qF 'in a separate process: --isolate' || fails "expected that it is shown as isolated"
fi

# ---- A program ----
mkdir program saved
cp "$SOURCE"/samples/python/store.py* program/
export TENON_PLUGIN_PATH=$PWD/program
store='store: {use: sample.log, path: saved/threads.jsonl}'
echo "$store" >tenon.yaml
run tenon run "$hello" --thread ada --set name=Ada
expect_code 1
expect_in err 'provides `tenon.store/1-draft.3` (a draft: allow it with `plugins: {drafts: [sample.log]}` in tenon.yaml, or --allow-drafts)'
printf 'plugins: {drafts: sample.log}\n%s\n' "$store" >tenon.yaml
run tenon run "$hello" --thread ada --set name=Ada
expect_code 0 && expect_out "$said"
[ ! -s "$work/err" ] || fails "expected nothing on standard error: the sandbox must allow what the program does"
run tenon thread list
expect_code 0 && expect_in out "ada "
run tenon replay ada
expect_code 0 && expect_out "ada: 2 of 2 checkpoints are identical"
run tenon plugin list
expect_code 0 && expect_in out "in a separate process: it is a program"

# Failures name the file. A commit that fails leaves nothing, and the file of another program is not changed.
size=$(stat -c %s saved/threads.jsonl)
run bash -c 'ulimit -f $(('"$size"' / 1024 + 1)); exec "$@"' limited "$TENON" run "$hello" --thread big --set "name=$(head -c 20000 /dev/zero | tr '\0' x)"
expect_code 1 && expect_in err "/saved/threads.jsonl: File too large [STORE_FULL]"
run tenon thread list
expect_code 0 && expect_in out "ada " && expect_not_in out "big "
[ "$(tail -c 1 saved/threads.jsonl | od -An -c | tr -d ' ')" = '\n' ] || fails "a part of a line stayed"
mkdir other
printf 'my diary' >other/threads.jsonl
printf 'store: {use: sample.log, path: other/threads.jsonl}\nplugins: {drafts: sample.log}\n' >other.yaml
run tenon run "$hello" --thread ada --config other.yaml
expect_code 4 && expect_in err "/other/threads.jsonl does not begin as a file of this store; set another \`path\` [STORE_CORRUPT]"
[ "$(cat other/threads.jsonl)" = "my diary" ] || fails "the file of another program was changed"
if [ "$(id -u)" != 0 ]; then # root may write everywhere
    rm other/*
    chmod a-w other
    run tenon run "$hello" --thread ada --config other.yaml
    expect_code 1 && expect_in err "Permission denied [STORE_READ_ONLY]"
    chmod u+w other
fi

# ---- It ends before or after it has saved a batch: the run fails, and the thread can be resumed ----
python3 - program/store.py <<'PYTHON'
import sys

text = open(sys.argv[1]).read()
append = "                if changes:\n                    self.append(changes)\n"
assert append in text
text = text.replace(append, '                fail(self.path + "-before")\n' + append + '                fail(self.path + "-after")\n')
text = text.replace("class Store:", '''def fail(counter):
    if os.path.exists(counter):
        with open(counter, "r+") as file:
            left = int(file.read()) - 1
            file.seek(0)
            file.write(str(left))
        if left == 0:
            os.remove(counter)
            os._exit(9)


class Store:''')
open(sys.argv[1], "w").write(text)
PYTHON
# The second batch: commits that wait at the same time are one batch, so there may be no third one.
for when in before after; do
    rm -f saved/*
    echo 2 >saved/threads.jsonl-$when
    run tenon run "$hello" --thread ada --set name=Ada
    expect_code 1
    expect_in err 'plugin `sample.log`: its process exited with status 9; whether the batch was applied is not known [STORE_ERROR]'
    run tenon thread show ada
    if [ "$code" = 0 ]; then
        run tenon run "$hello" --thread ada --resume
    else
        expect_in err "NOT_FOUND"
        run tenon run "$hello" --thread ada --set name=Ada
    fi
    expect_code 0 && expect_out "$said"
done
run tenon plugin list
expect_in out "its process has ended 2 times"
run tenon plugin reset sample.log
expect_code 0 && expect_out "sample.log: cleared 2 deaths; a running host starts it again at once"
