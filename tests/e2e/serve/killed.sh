# `kill -9` while runs of three protocols and two users are active: the next host continues all of them, also those that no
# client asks for. A host that runs beside it does not. A run with which hosts die again and again is given up.
for plugin in serve openai_server ai_sdk rest_server session_server ag_ui sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
sed "s/delay_ms: 20/delay_ms: 150/" "$SOURCE/tests/e2e/ai_sdk/graphs/two.yaml" >two.yaml
sed "s/delay_ms: 150/delay_ms: 2000/; s/name: two/name: slow/" two.yaml >slow.yaml
printf 'store: {use: sqlite, path: runs.db}\nserve: {port: 0, log: false, drain_seconds: 1}\n' >tenon.yaml
web_start() { # NAME [FILE…]: $host; its address is in NAME.at
    serve_start "$@"
    echo "$address" >"$1.at"
}
web_kill() { kill -9 "$host" && expect_ended "$host" "the host was not killed"; }
record() { tenon thread show "$1" --json; }
client() { last="faults.py $*" && python3 "$SOURCE/tests/serve/faults.py" "$@" >"$work/out" 2>"$work/err" || { code=$? && fails "faults.py $*"; }; }
has_ended_all() { ! tenon thread list --json | grep -qE '"status":"(running|stopped)"'; }
ada=$(tenon key create ada) bob=$(tenon key create bob)

# ---- Under load ----
web_start first two.yaml slow.yaml
client begin "$(<first.at)" "$ada" "$bob" two
web_start beside two.yaml slow.yaml # a host of the same store, while the other one lives
beside=$host
owners=$(tenon thread list --json | grep -o '"pid":[0-9]*' | sort -u)
[ "$(wc -l <<<"$owners")" = 1 ] || fails "two hosts run the threads: $owners"
kill -TERM "$beside" && expect_ended "$beside" "the host did not end"
host=${servers[0]}
web_kill
tenon thread list --json >listed; grep -q "\"status\":\"running\"" listed || { cat listed first.err >&2; fails "no run was active when the host was killed"; }

# ---- The processes of isolated protocols are killed, or stop: beside all that follows ----
mkdir apart
printf 'store: {use: memory}\nserve: {port: 0, log: false, drain_seconds: 1}\nplugins: {isolation: {%s}}\n' \
    'tenon.openai_server: process, tenon.session_server: process, tenon.ag_ui: process' >apart/tenon.yaml
web_start apart/host slow.yaml --config apart/tenon.yaml
apart=$host
key=$(grep -oh 'tn_[A-Za-z0-9_-]*' apart/host.err apart/host.out | head -1)
python3 "$SOURCE/tests/serve/isolated.py" "$address" "$key" "$apart" apart/host.err >isolated.out 2>&1 &
isolated=$!
servers+=("$isolated")

# ---- The next host ----
web_start second two.yaml slow.yaml
client resume "$(<second.at)" "$ada" "$bob" two # some of the clients ask
wait_until has_ended_all                        # the others never do
tenon thread list --json | grep -v '"status":"done"' && fails "a run is not done"
client whole "$(<second.at)" "$ada" "$bob" two
kill -TERM "$host" && expect_ended "$host" "the host did not end"

# ---- SIGTERM: what was active is continued; a second signal, or the time of the drain, cancels nothing for good ----
web_start stopped two.yaml slow.yaml
client one "$(<stopped.at)" "$ada" slow kept
kill -TERM "$host" && expect_ended "$host" "the host did not end"
record "@ada:$(<kept)" | grep -qF '"status":"stopped"' || fails "expected stopped: $(record "@ada:$(<kept)")"

# ---- A run with which the host dies ----
is_claimed() { record "@ada:$(<kept)" | grep -qF "\"count\":$1,"; }
for count in 0 1 2; do
    web_start dies two.yaml slow.yaml
    wait_until is_claimed "$count"
    wait_until eval 'record "@ada:$(<kept)" | grep -qF "\"status\":\"running\""'
    web_kill
done
web_start last two.yaml slow.yaml
wait_until grep -q 'is not continued any more: hosts have died 3 times' last.err
record "@ada:$(<kept)" | grep -qF '"code":"HOST_ENDED"' || fails "expected HOST_ENDED"
client failed "$(<last.at)" "$ada" kept
web_kill

# ---- Another document ----
web_start before two.yaml slow.yaml
client one "$(<before.at)" "$ada" slow changed
web_kill
sed -i 's/third/fourth/g' slow.yaml
web_start after two.yaml slow.yaml
wait_until grep -q 'its graph has changed' after.err
web_kill

wait "$isolated" || { cat isolated.out >&2; fails "isolated.py"; }
host=$apart && serve_stop
[ "$code" = 0 ] || fails "expected exit status 0"
