# The store does not answer, or its disk is full, while runs are active: the host stays up, clients get an error of their
# protocol, and afterwards the host continues the runs that it could not save.
for plugin in serve openai_server ai_sdk sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
sed "s/delay_ms: 20/delay_ms: 40/" "$SOURCE/tests/e2e/ai_sdk/graphs/two.yaml" >two.yaml
sed "s/delay_ms: 40/delay_ms: 150/; s/name: two/name: longer/" two.yaml >longer.yaml
web_start() { serve_start web two.yaml longer.yaml; } # it uses tenon.yaml
client() { last="store_away.py $*" && python3 "$SOURCE/tests/serve/store_away.py" "$@" >"$work/out" 2>"$work/err" || { code=$? && cat web.err >&2 && fails "store_away.py $*"; }; }

# ---- A file that another process locks ----
printf 'store: {use: sqlite, path: runs.db, busy_ms: 300}\nserve: {port: 0, log: false}\n' >tenon.yaml
key=$(tenon key create ada)
web_start
client "$address" "$key" locked runs.db
serve_stop

# ---- SIGTERM when the store does not answer: nothing holds the host up longer than the drain may take ----
running() { # $id is a run whose first message was saved, and which needs seconds for the second one
    id=$(curl -sS -H "authorization: Bearer $key" -H "content-type: application/json" "$address/v1/responses" -d '{"model": "longer", "input": "hi", "background": true}' | jq -r .id)
    wait_until eval 'tenon thread show "@ada:$id" --json | grep -qF "\"step\":1"'
}
web_start
running
python3 -c '
import signal, sqlite3
store = sqlite3.connect("runs.db", isolation_level=None)
store.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
signal.pause()' >locked &
servers+=("$!")
wait_until grep -q locked locked
serve_stop
kill "${servers[-1]}"
grep -q "the run of the thread \`@ada:$id\` could not be saved" web.err && [ "$code" = 1 ] || fails "expected that the run could not be saved: $code, $(cat web.err)"
# The process of the store is stopped: it is replaced, and the run is saved.
printf 'store: {use: sqlite, path: apart/runs.db}\nplugins: {isolation: {tenon.sqlite: process}}\nserve: {port: 0, log: false}\n' >tenon.yaml
key=$(tenon key create ada)
web_start
running
kill -STOP "$(pgrep -P "$host" | head -n 1)"
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0: $code, $(cat web.err)"
grep -qE 'did not answer .store_(commit|query). within 2000 ms at the end of the host' web.err || fails "expected a process that was replaced: $(cat web.err)"
tenon thread show "@ada:$id" --json | grep -qF '"status":"stopped"' || fails "expected a run that was saved"

# ---- A full disk, with the access log on it ----
disk=$work/disk
mkdir "$disk"
if mount -t tmpfs -o size=4m tmpfs "$disk" 2>/dev/null; then
    trap 'servers_stop; umount -l "$disk"; chmod -R u+w "$work"; rm -rf "$work"' EXIT
    printf 'store: {use: sqlite, path: %s}\nserve: {port: 0, log: %s}\n' "$disk/runs.db" "$disk/access.jsonl" >tenon.yaml
    key=$(tenon key create ada)
    web_start
    client "$address" "$key" full "$disk"
    wait_until grep -q '"path":"/v1/models/two"' "$disk/access.jsonl" # it is written again
    serve_stop
fi

# ---- PostgreSQL: there is no connection; it accepts connections, and does not answer; its processes are stopped ----
[ -e "$BINARY/lib/tenon/plugins/postgres.so" ] && [ -S "${TENON_TEST_POSTGRES:-}/.s.PGSQL.5432" ] || exit 0
mkdir proxy
proxy=$PWD/proxy/.s.PGSQL.5432
proxy_start() {
    python3 "$SOURCE/tests/serve/store_proxy.py" "$TENON_TEST_POSTGRES/.s.PGSQL.5432" "$proxy" &
    servers+=("$!")
    wait_until test -S "$proxy"
}
sql() { "$SOURCE/tests/postgres/server" run "$TENON_TEST_POSTGRES" psql -qAt -h "$TENON_TEST_POSTGRES" -U tenon tenon -c "$1"; }
proxy_start
printf '#!/bin/sh\ncase $1 in away) kill -9 %s; rm %s;; back) touch back;; esac\n' "${servers[-1]}" "$proxy" >gone
printf 'store: {use: postgres, url: "host=%s dbname=tenon user=tenon connect_timeout=2 application_name=%s", schema: %s, timeout_ms: 700, reconnect_ms: 300, busy_ms: 700}\nserve: {port: 0, log: false}\n' "$PWD/proxy" "away_$$" "away_$$" >tenon.yaml
key=$(tenon key create ada) bob=$(tenon key create bob)
web_start
chmod +x gone
python3 "$SOURCE/tests/serve/store_away.py" "$address" "$key" command ./gone >client.out 2>client.err &
client=$!
wait_until eval "test -e back || ! kill -0 $client"
proxy_start
wait "$client" || { cat client.err web.err >&2; fails "store_away.py $address command"; }
printf '#!/bin/sh\ncase $1 in away) kill -STOP %s;; back) kill -CONT %s;; esac\n' "${servers[-1]}" "${servers[-1]}" >gone
client "$address" "$bob" command ./gone
running
stopped=$(sql "SELECT pid FROM pg_stat_activity WHERE application_name = 'away_$$'")
kill -STOP $stopped
wait_until eval 'tenon thread show "@ada:$id" --json | grep -qF "\"status\":\"done\""' # by another connection
kill -CONT $stopped
serve_stop
[ "$code" = 0 ] || fails "expected exit status 0: $code, $(cat web.err)"
