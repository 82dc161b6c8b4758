# A batch of paid calls whose process is killed, a small one (see batch.py for the full size).
command -v python3 >/dev/null || skips "there is no python3"
python3 "$SOURCE/tests/chaos/batch.py" --lines 50 --kills 6
python3 "$SOURCE/tests/chaos/batch.py" --lines 20 --kills 3 --durability exit
