# Input that is not UTF-8, from everywhere, is reported as that: never as lack of memory, and it is not changed silently.
bad=$(printf '\xff\xfe')
printf 'store: {use: sqlite, path: ./kept.db}\n' >tenon.yaml
cat >echo.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML

# reported CODE COMMAND…: it fails with that exit code, and the message says why
reported() {
    run tenon "${@:2}"
    expect_code "$1"
    grep -q 'UTF-8' "$work/err" "$work/out" || fails "expected a message about UTF-8"
    ! grep -qi 'memory (\|enough memory\|out of memory' "$work/err" || fails "blames the memory"
}

# ---- The command line: texts, and what is parsed ----
reported 2 run echo.yaml --thread "x$bad"
expect_in err "--thread: found the byte 0xFF, expected UTF-8, at byte 2 of"
for command in show history state export delete; do reported 2 thread $command "$bad"; done
reported 2 thread fork x "$bad"
reported 2 thread list --agent "$bad"
reported 2 replay "$bad"
reported 2 task create "$bad"
expect_in err "TYPE: found the byte 0xFF"
reported 2 task create work --key "$bad"
reported 2 task claim --as "$bad"
reported 2 task fail id token "$bad"
reported 2 memory put "$bad" k 1
reported 2 memory put n "$bad" 1
reported 2 memory put n k "$bad"
reported 2 artifact search "$bad"
reported 2 artifact write echo.yaml --type "$bad"
reported 2 tool show "$bad"
reported 2 model test "$bad:x"
reported 2 run echo.yaml --isolate "$bad"
reported 2 run echo.yaml --set "n=$bad"
reported 2 run echo.yaml --set "$bad=1"
reported 2 run echo.yaml --input "{\"n\": \"$bad\"}"
reported 2 task create work --payload "{\"a\": \"$bad\"}"
reported 1 eval "\"$bad\""
run tenon memory search n
expect_not_in out "k"

# Names of files need not be UTF-8.
cp echo.yaml "$bad.yaml"
run tenon check "$bad.yaml"
expect_code 0

# ---- Files, standard input and the environment ----
printf '{"n": "\xff"}' >bad.json
reported 2 run echo.yaml --input @bad.json
reported 2 thread import bad.json
reported 2 test bad.json
printf '{"n": 1}\n{"n": "\xff"}\n' >bad.jsonl
reported 1 run echo.yaml --batch bad.jsonl
printf 'version: "1.0"\nagent: {name: "\xff"}\n' >bad.yaml
reported 3 run bad.yaml
reported 3 check bad.yaml
printf 'a \xff' >template.txt
sed 's/type: set.*/type: prompt, config: {template: {file: template.txt}, output_key: n}}]/' echo.yaml >template.yaml
reported 3 run template.yaml
printf 'secrets: {a: "\xff"}\n' >config.yaml
reported 4 run echo.yaml --config config.yaml
OPENAI_API_KEY=$bad reported 1 model test openai:gpt

# ---- A plugin, in the host and in a separate process ----
for where in "" "--isolate test.latin"; do
    for tool in result blocking key; do
        reported 1 tool call test.latin_$tool '{}' --plugins "$TEST_PLUGINS/latin" $where
        expect_in err "[NOT_TEXT]"
    done
    run tenon tool call test.latin_message '{}' --plugins "$TEST_PLUGINS/latin" $where
    expect_code 1 && expect_in err "[BROKEN]" && expect_in err "caf�"
    sed 's/type: set.*/type: test.latin_write, config: {out: n}}]/' echo.yaml >latin.yaml
    reported 1 run latin.yaml --plugins "$TEST_PLUGINS/latin" $where
    expect_in err "[NOT_TEXT]"
done

# ---- A tool that is a command ----
cat >define.yaml <<'YAML'
plugins: {config: {tenon.define: {tools: [{name: bad.out, description: Bytes., command: [printf, 'a\377b']}]}}}
YAML
reported 1 tool call bad.out '{}' --config define.yaml --yes

# ---- The store ----
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] && command -v python3 >/dev/null; then
    run tenon run echo.yaml --thread good
    expect_code 0
    for damage in "key = cast(x'676f6f642fff' as text) WHERE key = 'good/0000000000'" \
        "json = cast(x'7b2261223a22ff227d' as text) WHERE key = 'good'"; do
        cp kept.db saved.db
        python3 -c '
import sqlite3, sys
sqlite3.connect("kept.db", isolation_level=None).execute("UPDATE entries SET " + sys.argv[1])' "$damage"
        run tenon thread export good
        expect_code 4 && expect_in err "kept.db: is damaged" && expect_in err "[STORE_CORRUPT]"
        rm -f kept.db-wal kept.db-shm
        mv saved.db kept.db
    done
fi
