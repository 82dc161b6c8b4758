# `tenon schema python`: a module that works without anything else, and whose types accept every example of the
# reference and refuse mistakes.
command -v python3 >/dev/null || skips "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skips "Python is older than 3.9"
run tenon schema python
expect_code 0 && [ ! -s "$work/err" ] || fails "cannot print the types for Python"
cp "$work/out" methods.py
cmp -s methods.py "$BINARY/share/tenon/clients/methods.py" || fails "the installed methods.py differs"
"$TENON" schema openrpc >openrpc.json
python3 "$SOURCE/tests/e2e/reference/client_types.py" python <openrpc.json >client.py
run python3 -W error client.py
expect_code 0
python3 - <<'P' || fails "the module lacks a method or an event"
import json, typing
import methods
api = json.load(open("openrpc.json"))
assert list(methods.METHODS) == [method["name"] for method in api["methods"]]
assert set(typing.get_type_hints(methods.Events)) == {event["name"] for event in api["x-tenon-events"]}
for method in api["methods"]:
    for one in methods.METHODS[method["name"]]:
        if isinstance(one, type):
            typing.get_type_hints(one)
    params = methods.METHODS[method["name"]][0]
    if "x-tenon-params" not in method:
        assert set(typing.get_type_hints(params)) == {param["name"] for param in method["params"]}, method["name"]
        assert params.__required_keys__ == {param["name"] for param in method["params"] if param["required"]}, method["name"]
assert methods.RunConfig.__required_keys__ == set()
# The names of types say what they are: none ends in a number, and none hides what the language has.
import builtins, re
odd = [name for name in vars(methods) if re.search(r"\d|_$", name.strip("_")) or name != "Calls" and hasattr(builtins, name)]
assert not [name for name in odd if not name.startswith("__")], odd
P

mypy=$(command -v mypy) || skips "the module works; mypy is not installed"
cat >wrong.py <<'P'
import methods


def wrong(client: methods.Calls, run: methods.Run, ended: methods.RunEndedEvent) -> None:
    client.call("run/strat", {"document": "a.yaml"})  # wrong
    client.call("run/get", {"run_id": 7})  # wrong
    client.call("run/get", {})  # wrong
    client.call("run/get")  # wrong
    client.call("run/start", {"document": "a.yaml", "text": "version: 1"})  # wrong
    client.call("run/start", {"document": "a.yaml", "modes": ["update"]})  # wrong
    client.call("run/cancel", {"run_id": "r", "drian": True})  # wrong
    print(run["stat"])  # wrong
    print(ended["status"] + 1)  # wrong
    print(run["status"] == "ended")  # wrong
P
run "$mypy" --strict --cache-dir cache client.py
expect_code 0
run "$mypy" --strict --cache-dir cache wrong.py
expect_code 1
diff <(grep -n '# wrong' wrong.py | cut -d: -f1) <(of 's/^wrong\.py:([0-9]+): error: .*/\1/p' "$work/out" | sort -nu) ||
    fails "mypy must report these lines, and no others"
