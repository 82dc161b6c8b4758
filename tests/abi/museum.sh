# The museum: plugins built from every header that was released, run on the current host, in its process and isolated. Their
# transcripts must not change. See museum/README.md. MUSEUM_UPDATE=1 writes the transcript of an exhibit that has none.
museum=$SOURCE/tests/abi/museum
machine=$(uname -m)

# ---- The exhibits ----
# The exhibits of the release use every function of the host; otherwise their transcripts would prove less.
members() { # header, struct: its functions
    gcc -w -fpreprocessed -dD -E -P "$SOURCE/sdk/frozen/1/include/$1" |
        awk -v end="} $2;" '/^typedef struct/ { text = "" } { text = text $0 "\n" } $0 == end { printf "%s", text }' |
        tr '\n' ' ' | sed 's/;/;\n/g' | sed -n 's/^[^(]*TN_FN(\([a-z_0-9]*\)).*/\1/p'
}
uses_all() { # exhibit, name of the table in it, header, struct
    [ "$(members "$3" "$4" | wc -l)" -gt 2 ] || fails "$4 was not found"
    for member in $(members "$3" "$4"); do
        grep -q "$2->$member(" "$museum/$1" || fails "$1 does not use $member of $4"
    done
}
uses_all released.c core tenon.h tn_core_1
uses_all released.c values tenon.h tn_value_1
uses_all released.c tasks tenon.h tn_task_1
released="eval host http poll registry tool"
for name in $released; do uses_all $name-1.c subject tenon/$name.h tn_${name}_1; done

mkdir built
CC=${CC:-cc} "$museum/build" built 2>"$work/log" || { cat "$work/log" >&2; fails "the exhibits do not compile"; }
sets=built
if [ -d "$museum/$machine" ]; then
    sets="built $museum/$machine"
    for source in "$museum"/*.c; do
        name=$(basename "$source" .c)
        binary=$museum/$machine/$name.so
        [ -e "$binary" ] || fails "there is no binary of $name for $machine"
        [ "$(wc -c <"$binary")" -le 32768 ] || fails "$binary is larger than 32 KiB"
    done
    sh "$SOURCE/tests/abi/symbols.sh" "$museum/$machine"/*.so || fails "the symbols of a binary"
fi

# ---- The transcripts ----
printf 'log: info\nstore: {use: memory}\nplugins: {config: {museum.released: {greeting: good morning}}}\n' >tenon.yaml

# What no later host may change: events without times and ids, the first and last chunk of each stream, error codes, the
# plugin's log lines, and the exit code. Of tasks only failures, because the scheduler decides when others end.
transcript() {
    awk '
        function flush() { if (count > 0) print first (count > 1 ? "\n... " count " chunks in order\n" last : ""); count = 0 }
        /^\{"type":"custom"/ {
            number = $0; sub(/.*"data":/, "", number)
            if (count > 0 && number + 0 != previous + 1) print "out of order: " $0
            if (count++ == 0) first = $0
            last = $0; previous = number + 0
            next
        }
        { flush() }
        /^\{"type":"tasks"/ && !/"outcome":"failed"/ { next }
        { print }
        END { flush() }' "$work/out" |
        sed -E 's/"(task_id|run_id)":"[^"]*",?//; s/,"ms":[0-9]+//g; s/"id":"[0-9a-f]{16}",//; s/"code":"TIMEOUT".*/"code":"TIMEOUT"/
            s/"usage":\{"llm_calls"[^}]*\},//' # it may gain members
    # The host's own warning about a variable that an isolated plugin cannot pass on does not belong to the exhibit.
    sed -nE '/: a program does not get the variable /d
        s/^tenon: (info|warning|error): (museum\.[a-z_]+: )(good|an? |stops|quiesce|deinit)/\1: \2\3/p
        s/^tenon: .*\[([A-Z_]*)\]$/refused: \1/p' "$work/err"
    echo "exit code $code"
}

# The answers for the exhibit of HTTP.
export TENON_HTTP_REPLAY=$museum/http-1.replay

# Each process of an isolated plugin logs its start and its end: one for async components, and one for blocking ones.
once_for_all_processes() { awk '!/: (good|quiesce|deinit|a post)/ || !seen[$0]++'; }

# shown SET EXHIBIT DOCUMENT PLUGIN: runs it in the host's process and isolated, and compares the transcripts
shown() {
    local expected=$museum/$3.expected how
    for how in "" "--isolate $4"; do
        # shellcheck disable=SC2086
        run tenon run "$museum/$3.yaml" --plugins "$1/$2.so" --allow-drafts --json $how
        transcript | if [ -n "$how" ]; then once_for_all_processes; else cat; fi >transcript
        if [ -n "${MUSEUM_UPDATE:-}" ] && [ ! -e "$expected" ]; then cp transcript "$expected"; fi
        diff -u "$expected" transcript >&2 || fails "$3 of $1 says something else ${how:+with }$how"
    done
}
# shown_provided SET EXHIBIT CONFIG [OPTIONS]: the same for an exhibit that the host uses, in the host's process
shown_provided() {
    local set=$1 exhibit=$2 config=$3 expected=$museum/$2.expected
    shift 3
    case $set in /*) ;; *) set=../$set ;; esac
    mkdir -p kept
    printf 'log: info\n%s\n' "$config" >kept/tenon.yaml
    last="tenon run $exhibit, as configured"
    (cd kept && unset TENON_HTTP_REPLAY && "$TENON" run "$museum/$exhibit.yaml" --plugins "$set/$exhibit.so" \
        --allow-drafts --json "$@" >"$work/out" 2>"$work/err" </dev/null) && code=0 || code=$?
    { transcript; } >transcript
    if [ -n "${MUSEUM_UPDATE:-}" ] && [ ! -e "$expected" ]; then cp transcript "$expected"; fi
    diff -u "$expected" transcript >&2 || fails "$exhibit of $set says something else"
}

# shown_served SET EXHIBIT CONFIG [OPTION]: `tenon serve` with a server without a network, which ends the host
shown_served() {
    local set=$1 exhibit=$2 expected=$museum/$2.expected
    case $set in /*) ;; *) set=../$set ;; esac
    mkdir -p served
    printf 'log: info\nstore: {use: memory}\nserve: {protocols: [museum.server], log: false, %s}\n' "$3" >served/tenon.yaml
    last="tenon serve ${4:-}"
    # shellcheck disable=SC2086
    (cd served && timeout 60 "$TENON" serve --port 1 --plugins "$set/$exhibit.so" \
        --plugins "$set/server-1-draft.1.so" --allow-drafts ${4:-} >"$work/out" 2>"$work/err" </dev/null) && code=0 || code=$?
    transcript >transcript
    if [ -n "${MUSEUM_UPDATE:-}" ] && [ ! -e "$expected" ]; then cp transcript "$expected"; fi
    diff -u "$expected" transcript >&2 || fails "$exhibit of $set says something else ${4:-}"
}

for set in $sets; do
    shown "$set" released released museum.released
    shown "$set" released released-asks museum.released
    shown "$set" released released-refuses museum.released
    for name in $released; do shown "$set" $name-1 $name-1 museum.$name; done
    for draft in demand-1-draft.1 document-1-draft.2 graph-1-draft.3 launch-1-draft.2 server-1-draft.1 state-1-draft.2; do
        shown "$set" $draft $draft museum.${draft%%-*}
    done
    for store in store-1-draft.2 store-1-draft.3; do
        shown_provided "$set" $store 'store: {use: museum.store, path: ./kept}' --thread t
    done
    shown_provided "$set" http_client-1-draft.1 'http: museum.client'
    shown_served "$set" http_server-1-draft.1 'use: museum.http'
    shown_served "$set" http_server-1-draft.1 'use: museum.http' "--isolate museum.server"
    shown_served "$set" authenticator-1-draft.1 'use: museum.authenticator, authenticators: museum.authenticator'
    for binary in "$set"/*.so; do
        run tenon plugin show --validate "$binary"
        expect_code 0
    done
done
[ -d "$museum/$machine" ] || echo "there are no binaries for $machine: the exhibits were built from source"
