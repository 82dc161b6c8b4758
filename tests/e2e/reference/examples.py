"""Reads the manifests of components (JSON on standard input), and checks what the reference prints of them.

`examples.py describe` fails if a component has no documentation or example, or a member no description. `examples.py
documents FOLDER` writes a document around each example of a node type or a model, for `tenon check FOLDER`.
"""
import json
import os
import re
import sys

def undescribed(schema, at):
    """The members without a description; conditions (`if`, `then`, `not`) repeat members and need none."""
    if isinstance(schema, list):
        return [name for part in schema for name in undescribed(part, at)]
    if not isinstance(schema, dict):
        return []
    found = []
    for key, part in schema.items():
        if key == "properties":
            for name, member in part.items():
                if isinstance(member, dict) and not member.get("description") and "$ref" not in member:
                    found.append(f"{at}/{name}")
                found += undescribed(member, f"{at}/{name}")
        elif key in ("$defs", "patternProperties"):
            for name, member in part.items():
                found += undescribed(member, f"{at}/{name}")
        elif key in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "prefixItems"):
            found += undescribed(part, at)
    return found


def describe(components):
    wrong = []
    for component in components:
        name = f"{component['kind']} {component['id']}"
        wrong += [f"{name} has no {key}" for key in ("documentation", "examples", "effects") if key not in component]
        for part in ("config", "input", "output"):
            wrong += [f"{name}: no description of {at}" for at in undescribed(component.get(part), part)]
    if wrong:
        sys.exit("\n".join(wrong))


def annotated(root, schema, value, out):
    """Collects (annotation, text) of the parts of a value that its schema marks."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        target = root
        for key in schema["$ref"].split("/")[1:]:
            target = target[key]
        annotated(root, target, value, out)
    if isinstance(value, str) and "x-tenon" in schema:
        out.append((schema["x-tenon"], value))
    for part in sum((schema.get(key, []) for key in ("allOf", "anyOf", "oneOf")), []):
        annotated(root, part, value, out)
    if isinstance(value, dict):
        for name, member in value.items():
            if "propertyNames" in schema:
                annotated(root, schema["propertyNames"], name, out)
            annotated(root, schema.get("properties", {}).get(name, schema.get("additionalProperties")), member, out)
    if isinstance(value, list):
        for item in value:
            annotated(root, schema.get("items"), item, out)


def inner_document(channels):
    return {
        "version": "1.0",
        "channels": [{"name": name, "type": "last_value"} for name in channels],
        "nodes": [{"id": "one", "type": "passthrough"}],
        "edges": [{"from": "START", "to": "one"}, {"from": "one", "to": "END"}],
    }


def node_document(component, config, folder):
    found = []
    annotated(component["config"], component["config"], config, found)
    text = json.dumps(config)
    channels = {name for kind, name in found if kind.startswith("channel")}
    channels |= set(re.findall(r"state\.([a-z_]+)", text)) | set(re.findall(r"\{([a-z_]+)\}", text))
    # Defaults are names, too.
    channels |= {"messages", "items", "answers"}
    others = sorted({name for kind, name in found if kind == "node" and name != "END"})
    for kind, name in found:
        if kind == "document":
            with open(os.path.join(folder, name), "w") as out:
                json.dump(inner_document([*config["input"].values(), *config["output"]]), out)
    return {
        "version": "1.0",
        "models": {name: "scripted:x" for kind, name in found if kind == "model"} | {"default": "scripted:x"},
        "channels": [{"name": name, "type": "reduce", "reducer": "messages"} if name == "messages" else
                     {"name": name, "type": "last_value"} for name in sorted(channels)],
        "nodes": [{"id": "one", "type": component["id"], "config": config}] + [{"id": id, "type": "passthrough"} for id in others],
        "edges": [{"from": "START", "to": "one"}, {"from": "one", "to": "END"}] + [{"from": id, "to": "END"} for id in others],
    }


def model_document(component, config):
    return {
        "version": "1.0",
        "models": {"default": {"provider": component["id"], **config}},
        "channels": [{"name": "messages", "type": "reduce", "reducer": "messages"}],
        "nodes": [{"id": "one", "type": "llm"}],
        "edges": [{"from": "START", "to": "one"}, {"from": "one", "to": "END"}],
    }


def documents(components, folder):
    count = 0
    for component in components:
        for example in component["examples"]:
            config, kind = example.get("config", {}), component["kind"]
            if kind not in ("node", "model"):
                continue
            document = node_document(component, config, folder) if kind == "node" else model_document(component, config)
            count += 1
            with open(os.path.join(folder, f"{component['id']}-{count}.json"), "w") as out:
                json.dump(document, out)
    print(count)


components = json.load(sys.stdin)
describe(components) if sys.argv[1] == "describe" else documents(components, sys.argv[2])
