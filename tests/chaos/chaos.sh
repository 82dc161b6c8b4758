# Workers are killed, stopped and have wrong clocks, and still handle every Task once (see chaos.py).
command -v python3 >/dev/null || skips "there is no python3"
# The preloaded library is loaded before the runtime of a sanitizer, and does not depend on it.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 PYTHONDONTWRITEBYTECODE=1
python3 "$SOURCE/tests/chaos/chaos.py"
