"""Shared by the tests of all providers: running cases in provider_drive, recordings, golden files, assembling deltas.

    drive = Drive("openai")                                    # build/lib/tenon/plugins/openai.so
    result, = drive([{"component": "openai", "config": {...}, "input": {...}, "exchanges": [...]}])
    check(result["output"]["finish_reason"] == "stop", "…")

A test collects failures and ends with finish(), which prints them all and exits with 1; or with 77 if it was skipped.
TENON_GOLDEN=write writes the golden files instead of comparing them: review the difference.
"""
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NO_MEMORY = -6  # start's status
failures = []


def check(condition, message):
    if not condition:
        failures.append(message)
    return condition


def finish():
    for line in failures:
        print("FAILED", line)
    print(f"{len(failures)} failures" if failures else "all as expected")
    sys.exit(1 if failures else 0)


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def suite_path(*path):
    root = os.environ.get("TENON_SUITES") or os.path.join(HERE, "..", "..", "..", "shared", "suites")
    return os.path.join(root, *path)


def find_suite_folder(*path):
    """Returns a folder of recorded answers, or None."""
    found = suite_path(*path)
    return found if os.path.isdir(found) else None


def suite_folder(*path):
    """Returns a folder of recorded answers. Skips the test if it does not exist."""
    found = find_suite_folder(*path)
    if found is None:
        skip(f"no recorded answers at {suite_path(*path)}: set TENON_SUITES to the folder that has {path[0]}/")
    return found


class Drive:
    def __init__(self, plugin):
        self.command = [os.environ["PROVIDER_DRIVE"], os.path.join(os.environ["TENON_PLUGINS"], plugin + ".so")]

    def __call__(self, cases):
        lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
        process = subprocess.run(self.command, input=lines.encode(), capture_output=True, check=False)
        if process.returncode != 0:
            sys.exit(f"provider_drive ended with {process.returncode}:\n{process.stderr.decode()[-6000:]}")
        results = [json.loads(line) for line in process.stdout.decode().splitlines()]
        assert len(results) == len(cases)
        return results


def assemble(deltas):
    """Assembles deltas: (text, reasoning, complete parts, [{id, name, text of the arguments}], done)."""
    text, reasoning, parts, calls, done = "", "", [], [], None
    for delta in deltas:
        if "reset" in delta:
            text, reasoning, parts, calls, done = "", "", [], [], None
        text += delta.get("content", "")
        reasoning += delta.get("reasoning", "")
        if "part" in delta:
            parts.append(delta["part"])
        if "tool_call_delta" in delta:
            fragment = delta["tool_call_delta"]
            while len(calls) <= fragment["index"]:
                calls.append({"id": None, "name": None, "arguments": ""})
            call = calls[fragment["index"]]
            call["id"] = fragment.get("id", call["id"])
            call["name"] = fragment.get("name", call["name"])
            call["arguments"] += fragment.get("arguments", "")
        done = delta.get("done", done)
    return text, reasoning, parts, calls, done


def content_parts(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def joined_text(message, kind="text"):
    return "".join(part.get("text", "") for part in content_parts(message) if part["type"] == kind)


def reject_duplicate_keys(pairs):
    """Returns the object. The host rejects JSON with duplicate keys."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a duplicate key")
    return dict(pairs)


def parse_arguments(text):
    """Returns the expected arguments of a call for the text that the service sent."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=reject_duplicate_keys)
    except ValueError:
        return text
    return {} if value is None else text if isinstance(value, str) else value


def check_deltas(name, result):
    """Checks that the assembled deltas equal the message."""
    output = result.get("output")
    if output is None:
        return
    message = output["message"]
    text, reasoning, parts, calls, done = assemble(result["deltas"])
    check(text == joined_text(message), f"{name}: the deltas' text is not the message's")
    check(reasoning == joined_text(message, "reasoning"), f"{name}: the deltas' reasoning is not the message's")
    complete_parts = [p for p in content_parts(message) if p["type"] not in ("text", "reasoning") or "text" not in p]
    without_extra = [{k: v for k, v in p.items() if k != "extra"} for p in complete_parts]
    check([{k: v for k, v in p.items() if k != "extra"} for p in parts] == without_extra, f"{name}: the deltas' parts differ")
    assembled = [(c["id"], c["name"], parse_arguments(c["arguments"])) for c in calls]
    expected = [(c["id"], c["name"], c["arguments"]) for c in message.get("tool_calls", [])]
    check(assembled == expected, f"{name}: the deltas' tool calls are {assembled}, the message's {expected}")
    check(done is not None and done["finish_reason"] == output["finish_reason"], f"{name}: no delta with `done`")
    check(done is not None and done.get("usage") == output.get("usage"), f"{name}: usage of `done`")
    check(output["finish_reason"] == message["finish_reason"], f"{name}: two finish reasons")


def check_cuts(name, result):
    """Checks that a cut stream ends with the whole answer or with a retryable error, and does not hang."""
    cuts = result["cuts"]
    codes = set(cuts["codes"])
    check(codes <= {"INVALID_RESPONSE", "NO_USAGE"}, f"{name}: cuts ended as {cuts['codes']}")
    check(cuts["codes"].get("INVALID_RESPONSE", 0) > 0, f"{name}: no cut was detected")
    check(cuts["same"] > 0, f"{name}: no cut after the end returned the answer")


def check_allocation_failures(name, result):
    """Checks that a run with one failed allocation returns an error or the same answer."""
    codes = result["allocation_failures"]
    allowed = {"LIMIT", "INVALID_REQUEST", "CREATE", "SAME", str(NO_MEMORY)}
    check(set(codes) <= allowed, f"{name}: with failed allocations {codes}")
    check(codes.get("LIMIT", 0) + codes.get(str(NO_MEMORY), 0) > 0, f"{name}: no allocation failed: {codes}")


def differs(found, expected, at="$"):
    """Returns the first difference: `expected` has the members that are compared; None is an absent member."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            if value is None and key in found:
                return f"{at}.{key} is {found[key]}, expected none"
            if value is not None and (key not in found or differs(found[key], value, f"{at}.{key}")):
                return differs(found[key], value, f"{at}.{key}") if key in found else f"{at}.{key} is missing"
        return None
    if isinstance(expected, list) and isinstance(found, list):
        if len(found) != len(expected):
            return f"{at} has {len(found)} items, expected {len(expected)}: {found}"
        return next((text for i, item in enumerate(expected) if (text := differs(found[i], item, f"{at}[{i}]"))), None)
    return None if found == expected else f"{at} is {found!r}, expected {expected!r}"


def shorten(value):
    """Replaces long texts by their length and hash, so that golden files are readable."""
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
    check(found == expected, f"{name}: differs from {path}:\n  found    {json.dumps(found, ensure_ascii=False)[:3000]}")
