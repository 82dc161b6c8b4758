# Shared by the tests of `tenon work`. Each command is its own process; the store is the SQLite file beside tenon.yaml.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
nodes="--plugins $TEST_NODES --allow-drafts"

# strategy NAME NODE…: writes NAME.yaml, a strategy whose nodes run one after the other
strategy() {
    local name=$1 node before=START count=0
    shift
    {
        printf 'version: "1.0"\nagent: {name: %s}\n' "$name"
        printf 'output: {type: object, properties: {user_output: {type: [string, "null"]}, task_state: {enum: [done, failed, running]}, error: {type: [object, "null"]}}}\nchannels:\n'
        printf '  - {name: task, type: last_value}\n  - {name: user_output, type: last_value}\n'
        printf '  - {name: task_state, type: last_value, default: done}\n  - {name: error, type: last_value}\n'
        printf '  - {name: count, type: last_value, default: 0}\nnodes:\n'
        for node in "$@"; do printf '  - {id: n%s, %s}\n' $((count++)) "$node"; done
        printf 'edges:\n'
        count=0
        for node in "$@"; do
            printf '  - {from: %s, to: n%s}\n' "$before" $count
            before=n$((count++))
        done
        printf '  - {from: %s, to: END}\n' "$before"
    } >"$name.yaml"
}
# create TYPE [PAYLOAD [OPTION…]]: creates a Task; $id is its id
create() {
    run tenon task create "$1" --payload "${2:-{\}}" "${@:3}"
    expect_code 0
    id=$(cat "$work/out")
}
# shows TEXT: fails unless the Task $id contains it, as JSON
shows() {
    run tenon task show "$id" --json
    expect_in out "$1"
}
# worker [OPTION…]: starts a worker in the background; $worker is its process, its output is in worker.err
worker() {
    rm -f worker.err
    env --default-signal=INT "$TENON" work $nodes "$@" >worker.out 2>worker.err </dev/null &
    worker=$!
    servers+=("$worker")
    wait_until grep -q "claims Tasks" worker.err
}
task_is() { tenon task show "$id" --json | grep -qF -- "$1"; }
