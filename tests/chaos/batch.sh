# A batch of paid calls whose process is killed, a small one (see batch.py for the full size).
command -v python3 >/dev/null || skips "there is no python3"
python3 "$SOURCE/tests/chaos/batch.py" --lines 60 --kills 8
python3 "$SOURCE/tests/chaos/batch.py" --lines 30 --kills 4 --durability exit
