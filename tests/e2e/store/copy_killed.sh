# A copy that is killed at any time, and started again, ends with an equal store; until then no host uses the target.
command -v python3 >/dev/null || skips "there is no python3"
export PYTHONDONTWRITEBYTECODE=1
run python3 "$SOURCE/tests/e2e/store/copy_killed.py"
expect_code 0
cat "$work/out"
