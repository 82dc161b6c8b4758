# The same on PostgreSQL, whose server is restarted meanwhile; then hosts of different versions and a transaction that is held open.
# Small, unless CHAOS_TASKS is set; `chaos.py --store postgres --tasks 1000 --ttl 3 --skew 30` and `hosts.py xmin 4000` are the
# full sizes.
command -v python3 >/dev/null || skips "there is no python3"
command -v psql >/dev/null || skips "PostgreSQL is not installed (Debian: postgresql)"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 PYTHONDONTWRITEBYTECODE=1
code=0
python3 "$SOURCE/tests/chaos/chaos.py" --store postgres --tasks "${CHAOS_TASKS:-10}" --restart 1 --pause 20 || code=$?
[ $code != 77 ] || skips "PostgreSQL is not installed"
[ $code = 0 ] || exit $code
python3 "$SOURCE/tests/chaos/hosts.py"
