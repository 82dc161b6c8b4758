# Durable runs, killed at every write to their store (crash.py says how), as a test like those of tests/e2e.
command -v python3 >/dev/null || skips "there is no python3"
# What is preloaded comes before a sanitizer's runtime, and minds nothing of it.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 PYTHONDONTWRITEBYTECODE=1
python3 "$SOURCE/tests/crash/crash.py"
