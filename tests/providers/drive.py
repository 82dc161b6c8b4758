"""What the tests of all providers share: cases into provider_drive, recordings, golden files, deltas put together.

    drive = Drive("openai")                                    # build/lib/tenon/plugins/openai.so
    result, = drive([{"component": "openai", "config": {...}, "input": {...}, "exchanges": [...]}])
    check(result["output"]["finish_reason"] == "stop", "…")

A test collects what is wrong and ends with finish(): all of it is shown, and the exit code is 1; 77 where it cannot run
here. With TENON_GOLDEN=write the golden files are written instead of compared: look at what changed before keeping it.
"""
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NO_MEMORY = -6  # start's status
wrong = []


def check(truth, what):
    if not truth:
        wrong.append(what)
    return truth


def finish():
    for line in wrong:
        print("FAILED", line)
    print(f"{len(wrong)} wrong" if wrong else "all as expected")
    sys.exit(1 if wrong else 0)


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def suites(*path):
    """A folder of the recorded answers; the test is skipped where there are none."""
    root = os.environ.get("TENON_SUITES") or os.path.join(HERE, "..", "..", "..", "shared", "suites")
    found = os.path.join(root, *path)
    if not os.path.isdir(found):
        skip(f"no recorded answers at {found}: set TENON_SUITES to the folder that has {path[0]}/")
    return found


class Drive:
    def __init__(self, plugin):
        self.command = [os.environ["PROVIDER_DRIVE"], os.path.join(os.environ["TENON_PLUGINS"], plugin + ".so")]

    def __call__(self, cases):
        lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
        ran = subprocess.run(self.command, input=lines.encode(), capture_output=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"provider_drive ended with {ran.returncode}:\n{ran.stderr.decode()[-6000:]}")
        results = [json.loads(line) for line in ran.stdout.decode().splitlines()]
        assert len(results) == len(cases)
        return results


def assemble(deltas):
    """The message that the deltas make: (text, reasoning, whole parts, [{id, name, text of arguments}], done)."""
    text, reasoning, parts, calls, done = "", "", [], [], None
    for delta in deltas:
        if "reset" in delta:
            text, reasoning, parts, calls, done = "", "", [], [], None
        text += delta.get("content", "")
        reasoning += delta.get("reasoning", "")
        if "part" in delta:
            parts.append(delta["part"])
        if "tool_call_delta" in delta:
            piece = delta["tool_call_delta"]
            while len(calls) <= piece["index"]:
                calls.append({"id": None, "name": None, "arguments": ""})
            call = calls[piece["index"]]
            call["id"] = piece.get("id", call["id"])
            call["name"] = piece.get("name", call["name"])
            call["arguments"] += piece.get("arguments", "")
        done = delta.get("done", done)
    return text, reasoning, parts, calls, done


def parts_of(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(message, kind="text"):
    return "".join(part.get("text", "") for part in parts_of(message) if part["type"] == kind)


def unique(pairs):
    """An object; one with a key twice is no JSON, for the host."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def arguments_of(text):
    """What a call's arguments must be, of the text that a service sent."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=unique)
    except ValueError:
        return text
    return {} if value is None else text if isinstance(value, str) else value


def check_deltas(name, result):
    """Deltas, put together, are the message."""
    output = result.get("output")
    if output is None:
        return
    message = output["message"]
    text, reasoning, parts, calls, done = assemble(result["deltas"])
    check(text == text_of(message), f"{name}: the deltas' text is not the message's")
    check(reasoning == text_of(message, "reasoning"), f"{name}: the deltas' reasoning is not the message's")
    whole = [p for p in parts_of(message) if p["type"] not in ("text", "reasoning") or "text" not in p]
    bare = [{k: v for k, v in p.items() if k != "extra"} for p in whole]
    check([{k: v for k, v in p.items() if k != "extra"} for p in parts] == bare, f"{name}: the deltas' parts differ")
    got = [(c["id"], c["name"], arguments_of(c["arguments"])) for c in calls]
    made = [(c["id"], c["name"], c["arguments"]) for c in message.get("tool_calls", [])]
    check(got == made, f"{name}: the deltas' tool calls are {got}, the message's {made}")
    check(done is not None and done["finish_reason"] == output["finish_reason"], f"{name}: no delta says it is done")
    check(done is not None and done.get("usage") == output.get("usage"), f"{name}: usage of `done`")
    check(output["finish_reason"] == message["finish_reason"], f"{name}: two finish reasons")


def check_cuts(name, result):
    """A stream that is cut gives the whole answer, or an error that may be tried again; and never waits for ever."""
    cuts = result["cuts"]
    codes = set(cuts["codes"])
    check(codes <= {"INVALID_RESPONSE", "NO_USAGE"}, f"{name}: cuts gave {cuts['codes']}")
    check(cuts["codes"].get("INVALID_RESPONSE", 0) > 0, f"{name}: no cut was noticed")
    check(cuts["same"] > 0, f"{name}: no cut behind the end gave the answer")


def check_starved(name, result):
    """With any one allocation failing: an error, or the same answer."""
    codes = result["starved"]
    fine = {"LIMIT", "INVALID_REQUEST", "CREATE", "SAME", str(NO_MEMORY)}
    check(set(codes) <= fine, f"{name}: without memory {codes}")
    check(codes.get("LIMIT", 0) + codes.get(str(NO_MEMORY), 0) > 0, f"{name}: nothing failed: {codes}")


def shorten(value):
    """Long texts by their length and hash: golden files are for reading."""
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    if isinstance(value, str) and len(value) > 120:
        return f"{value[:40]}… ({len(value)} characters, {hashlib.sha256(value.encode()).hexdigest()[:16]})"
    return value


def check_golden(folder, name, result):
    path = os.path.join(HERE, "golden", folder, name + ".json")
    found = shorten({key: result[key] for key in ("output", "error") if key in result})
    if os.environ.get("TENON_GOLDEN") == "write":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        return
    if not check(os.path.exists(path), f"{name}: no golden file {path}"):
        return
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    check(found == expected, f"{name}: not as in {path}:\n  found    {json.dumps(found, ensure_ascii=False)[:3000]}")
