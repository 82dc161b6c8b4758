#!/usr/bin/env python3
"""Released JSON Schemas only grow: sdk/schema against sdk/frozen/1/schema.

    frozen_schema.py RELEASED TODAY

A schema may gain members, choices (`enum`, `anyOf`), and definitions; texts and examples may change. All else stays.
"""
import copy
import json
import pathlib
import sys

TEXTS = {"title", "description", "examples", "$comment"}
TABLES = {"properties", "patternProperties", "$defs"}


def differences(released, today, where="#"):
    if isinstance(released, bool) or isinstance(today, bool) or not isinstance(today, dict):
        return [] if released == today else [f"{where} has changed"]
    found = []
    for key in sorted(set(released) | set(today)):
        place, old, new = f"{where}/{key}", released.get(key), today.get(key)
        if key in TEXTS:
            continue
        if key in TABLES:
            for name, schema in (old or {}).items():
                if name in (new or {}):
                    found += differences(schema, new[name], f"{place}/{name}")
                else:
                    found.append(f"{place}/{name} is gone")
        elif key == "enum" and old and new:
            found += [f"{place}: {choice!r} is gone" for choice in old if choice not in new]
        elif key in ("anyOf", "allOf") and old and new:
            if len(new) < len(old) or key == "allOf" and len(new) != len(old):
                found.append(f"{place} has {len(new)} schemas, and had {len(old)}")
            for index, schema in enumerate(old[: len(new)]):
                found += differences(schema, new[index], f"{place}/{index}")
        elif key == "required" and old and new:
            if set(old) != set(new):
                found.append(f"{place} has changed")
        elif isinstance(old, dict) and isinstance(new, dict) and key not in ("const", "default"):
            found += differences(old, new, place)
        elif old != new or (key in released) != (key in today):
            found.append(f"{place} has changed")
    return found


def check_itself(schema):
    """Each change that breaks a reader is found, and what a schema may gain is not."""

    def changed(change):
        other = copy.deepcopy(schema)
        change(other["$defs"]["output"])
        return differences(schema, other)

    def state(output):
        return output["properties"]["task_state"]

    for breaks in (
        lambda output: output["properties"].pop("error"),
        lambda output: state(output)["enum"].remove("done"),
        lambda output: output.update(required=["user_output"]),
        lambda output: output.update(additionalProperties=False),
        lambda output: output.update(type="array"),
        lambda output: output["properties"]["error"]["anyOf"].pop(),
        lambda output: output["properties"]["artifact_refs"]["items"].update(maxLength=3),
        lambda output: output["properties"].update(error=True),
    ):
        assert changed(breaks), "a change was not found"
    for grows in (
        lambda output: output["properties"].update(more={"type": "string"}),
        lambda output: state(output)["enum"].append("later"),
        lambda output: output.update(description="Other words."),
        lambda output: output["properties"]["error"]["anyOf"].append({"type": "string"}),
    ):
        assert not changed(grows), changed(grows)


released, today = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
names = sorted(path.relative_to(released) for path in released.rglob("*.json"))
assert len(names) >= 10, "the released schemas are missing"
check_itself(json.loads((released / "component/1/runner.schema.json").read_text()))
status = 0
for name in names:
    now = today / name
    found = ["it is gone"] if not now.exists() else differences(*(json.loads(p.read_text()) for p in (released / name, now)))
    for line in found:
        print(f"sdk/schema/{name}: {line}; what must change gets a new version of the interface")
        status = 1
for path in sorted((today / "component/1").glob("*.json")):
    if path.relative_to(today) not in names:
        print(f"sdk/schema/{path.relative_to(today)} is released, and not in sdk/frozen/1")
        status = 1
sys.exit(status)
