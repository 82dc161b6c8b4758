#!/usr/bin/env python3
"""Recorded runs as chunks of the UI message stream, compared with golden ones, and mutated runs.

golden/NAME.jsonl has the chunks for version 6; golden/NAME.7.jsonl those for version 7, if they differ.
`chunks.py --write` writes the golden files. The rules of `Client` are those that processUIMessageStream of the SDK
enforces, and those that it does not: every part that is opened is closed, and the stream has an end.
"""
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
DRIVE = os.environ["AI_SDK_DRIVE"]
FIELDS = {  # required members by type, of version 6
    "start": [], "finish": [], "abort": [], "error": ["errorText"], "start-step": [], "finish-step": [],
    "text-start": ["id"], "text-delta": ["id", "delta"], "text-end": ["id"],
    "reasoning-start": ["id"], "reasoning-delta": ["id", "delta"], "reasoning-end": ["id"],
    "file": ["url", "mediaType"], "source-url": ["sourceId", "url"], "source-document": ["sourceId", "mediaType", "title"],
    "tool-input-start": ["toolCallId", "toolName"], "tool-input-delta": ["toolCallId", "inputTextDelta"],
    "tool-input-available": ["toolCallId", "toolName", "input"], "tool-input-error": ["toolCallId", "toolName", "input", "errorText"],
    "tool-approval-request": ["approvalId", "toolCallId"], "tool-output-available": ["toolCallId", "output"],
    "tool-output-error": ["toolCallId", "errorText"], "tool-output-denied": ["toolCallId"], "reset-step": [],
}
REASONS = {"stop", "length", "content-filter", "tool-calls", "error", "other"}


class Client:
    def __init__(self, replayed, version):
        self.open, self.calls, self.streaming, self.step, self.ended = {}, set(replayed), set(), False, False
        self.version, self.before = version, set(replayed)  # before: the calls of earlier steps

    def take(self, chunk):
        kind = chunk["type"]
        assert not self.ended, "a chunk after the end"
        if kind.startswith("data-"):
            assert "data" in chunk
            return
        for field in FIELDS[kind]:
            assert field in chunk, (kind, field)
        if kind.endswith("-start") and kind != "tool-input-start":
            assert chunk["id"] not in self.open
            self.open[chunk["id"]] = kind.split("-")[0]
        elif kind in ("text-delta", "text-end", "reasoning-delta", "reasoning-end"):
            assert self.open[chunk["id"]] == kind.split("-")[0]
            if kind.endswith("end"):
                del self.open[chunk["id"]]
        elif kind == "tool-input-start":
            assert chunk["toolCallId"] not in self.calls
            self.calls.add(chunk["toolCallId"])
            self.streaming.add(chunk["toolCallId"])
        elif kind == "tool-input-delta":
            assert chunk["toolCallId"] in self.streaming
        elif kind in ("tool-input-available", "tool-input-error"):
            self.calls.add(chunk["toolCallId"])
            self.streaming.discard(chunk["toolCallId"])
        elif kind.startswith("tool-"):
            assert chunk["toolCallId"] in self.calls
        elif kind == "start-step":
            self.step, self.before = True, set(self.calls)
        elif kind == "reset-step":
            assert self.version == 7 and self.step
            self.open, self.streaming, self.calls = {}, set(), set(self.before)
        elif kind == "finish-step":
            assert self.step and not self.open, "a part is open at the end of a step"
            self.step = False
        elif kind in ("finish", "abort"):
            assert not self.open, "a part is open at the end"
            assert chunk.get("finishReason", "stop") in REASONS
            self.ended = True


def drive(lines):
    result = subprocess.run([DRIVE], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


def check(lines, version):
    first = json.loads(lines[0])
    lines = [json.dumps({**first, "resets": version == 7}), *lines[1:]]
    output = drive(lines)
    chunks = [json.loads(line) for line in output.splitlines()]
    client = Client({part["toolCallId"] for part in first.get("parts", []) if "toolCallId" in part}, version)
    assert chunks[0]["type"] == "start"
    for chunk in chunks:
        client.take(chunk)
    assert client.ended
    return output


def mutate(events, rng):
    events = list(events)
    for _ in range(rng.randint(1, 6)):
        if not events:
            break
        at = rng.randrange(len(events))
        what = rng.randrange(5)
        if what == 0:
            del events[at]
        elif what == 1:
            events.insert(at, events[at])
        elif what == 2:
            other = rng.randrange(len(events))
            events[at], events[other] = events[other], events[at]
        elif what == 3:
            events.insert(at, {"missed": True})
        else:
            events[at] = wrong(events[at], rng)
    return events


def wrong(value, rng):
    """The value with one member of another type."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        return {**value, key: wrong(value[key], rng)} if key != "type" else value
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], wrong(value[at], rng), *value[at + 1:]]
    return rng.choice([None, 1, "x", [], {}, True, [None], {"type": "ai"}])


def main():
    names = sorted(HERE.glob("recorded/*.jsonl"))
    assert names
    for path in names:
        lines = path.read_text().splitlines()
        six = check(lines, 6)
        for output, name in ((six, path.name), (check(lines, 7), path.stem + ".7.jsonl")):
            golden = HERE / "golden" / name
            if "--write" in sys.argv and (output != six or output is six):
                golden.write_text(output)
            wanted = golden.read_text() if golden.exists() or output is six else six
            assert output == wanted, f"{path.name}: the chunks differ from golden/{name}"
        rng = random.Random(path.name)
        first, *events, last = (json.loads(line) for line in lines)
        for version in (6, 7) * 9:
            mutated = [first, *mutate(events, rng), last]
            text = [json.dumps(event) for event in mutated]
            try:
                check(text, version)
            except Exception:
                print("\n".join(text))
                raise
    print(f"{len(names)} runs")


main()
