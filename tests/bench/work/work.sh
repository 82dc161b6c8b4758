# The measurements of `tenon work`, each once and small. That of its peer only shows its help: it needs packages.
command -v python3 >/dev/null || skips "there is no python3"
export PYTHONDONTWRITEBYTECODE=1
run python3 "$SOURCE/tests/bench/work/tenon_work.py" throughput two 10 --processes=2
expect_code 0 && expect_in out '"per_second": '
run python3 "$SOURCE/tests/bench/work/tenon_work.py" latency one 3 --sync=full
expect_code 0 && expect_in out '"p99_ms": '
run python3 "$SOURCE/tests/bench/work/tenon_work.py" waiting waits 10 --warm=10
expect_code 0 && expect_in out '"per_task_kib": '
run python3 "$SOURCE/tests/bench/work/dbos_work.py" --help
expect_code 0
run python3 "$SOURCE/tests/bench/work/compare_postgres" --help
expect_code 0
run python3 "$SOURCE/tests/bench/work/tenon_work.py" steps chain 5
expect_code 0 && expect_in out '"per_second": '
