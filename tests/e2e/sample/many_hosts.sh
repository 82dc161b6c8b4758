# samples/many-hosts: the commands of compose.yaml and of the systemd units, as processes; then an activity of each engine.
command -v python3 >/dev/null || skips "there is no python3"
python3 -c 'import yaml' 2>/dev/null || skips "python3 has no module yaml (Debian: python3-yaml)"
[ -e "$BINARY/lib/tenon/plugins/postgres.so" ] || skips "the store postgres is not built"
cp -r "$SOURCE/samples/many-hosts" sample
chmod 711 "$work" "$work/here" # for the server of PostgreSQL, which can have another user
code=0
bash "$SOURCE/tests/postgres/server" start "$work/here/pg" >"$work/log" 2>&1 || code=$?
[ $code != 77 ] || skips "$(cat "$work/log")"
[ $code = 0 ] || { cat "$work/log" >&2; fails "PostgreSQL did not start"; }
trap 'bash "$SOURCE/tests/postgres/server" stop "$work/here/pg" immediate || true; servers_stop; chmod -R u+w "$work"; rm -rf "$work"' EXIT
for unit in sample/systemd/*.service; do
    if command -v systemd-analyze >/dev/null; then
        sed "s|/usr/bin/tenon|$TENON|" "$unit" >"$work/$(basename "$unit")"
        name=$(basename "$unit")
        [ "$name" != tenon-worker@.service ] || { cp "$work/$name" "$work/tenon-worker@1.service"; name=tenon-worker@1.service; }
        found=$(systemd-analyze verify "$work/$name" 2>&1) || true
        ! grep -E "Unknown|Failed to parse|Invalid|not executable" <<<"$found" || fails "$unit: $found"
    fi
done
export PYTHONDONTWRITEBYTECODE=1
run env PGHOST="$work/here/pg" python3 "$SOURCE/tests/e2e/sample/many_hosts.py" sample
expect_code 0
cat "$work/out"
