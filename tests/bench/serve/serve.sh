# The measurements of `tenon serve`, each once and small. Its peers need packages; `compare` installs them.
for plugin in serve openai_server openai; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "there is no python3"
export PYTHONDONTWRITEBYTECODE=1
run timeout 100 python3 "$SOURCE/tests/bench/serve/compare" --only Tenon --reps 1 --tokens 200 --paced 20 --requests 50 --held 40
expect_code 0 && expect_in out '| Tenon | ' && expect_not_in out '–'
