# Ten processes use one thread at the same time (see race.py).
command -v python3 >/dev/null || skips "there is no python3"
export PYTHONDONTWRITEBYTECODE=1
python3 "$SOURCE/tests/crash/race.py" "${CRASH_ROUNDS:-40}"
