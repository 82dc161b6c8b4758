"""Amazon Bedrock's wire format for tests: the binary stream, and the service model that botocore has, as a schema.

    stream([{"messageStart": {"role": "assistant"}}, …])     # bytes of application/vnd.amazon.eventstream
    schema = load_schema()                                   # None if botocore is not installed
    schema.faults("ConverseRequest", body)                   # a list of texts
"""
import base64
import json
import re
import struct
import zlib


def frame(headers, payload, bad=None):
    """One message. `bad` damages it: "prelude", "crc", "headers"."""
    raw = b""
    for name, value in headers.items():
        raw += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    if bad == "headers":
        raw = b"\xff" + raw[1:]
    prelude = struct.pack(">II", 16 + len(raw) + len(payload), len(raw))
    checked = prelude + struct.pack(">I", zlib.crc32(prelude) ^ (bad == "prelude")) + raw + payload
    return checked + struct.pack(">I", zlib.crc32(checked) ^ (bad == "crc"))


def event_frame(event, bad=None):
    """{"contentBlockDelta": {…}}, or {"exception": [TYPE, MESSAGE]}."""
    (name, value), = event.items()
    if name == "exception":
        headers = {":message-type": "exception", ":exception-type": value[0], ":content-type": "application/json"}
        return frame(headers, json.dumps({"message": value[1]}).encode(), bad)
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    payload = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return frame(headers, payload, bad)


def stream(events):
    return b"".join(map(event_frame, events))


def exchange(data, **more):
    return {"frames": base64.b64encode(data).decode(), "headers": {"content-type": "application/vnd.amazon.eventstream"}, **more}


class Schema:
    """The shapes of a service model; what Amazon's clients check before they send, and unknown members."""

    def __init__(self, model):
        self.shapes, self.operations = model["shapes"], model["operations"]

    def faults(self, name, value, at="$", skip=()):
        found = []
        self.check(name, value, at, found, skip)
        return found

    def check(self, name, value, at, found, skip=()):
        shape = self.shapes[name]
        kind = shape["type"]
        types = {"structure": dict, "map": dict, "list": list, "string": str, "boolean": bool, "blob": str,
                 "integer": int, "long": int, "float": (int, float), "double": (int, float)}
        if shape.get("document"):  # any JSON
            return
        if not isinstance(value, types[kind]) or (isinstance(value, bool) and kind != "boolean"):
            found.append(f"{at}: {value!r} is not of type {kind}")
            return
        if kind == "structure":
            members = {key: item for key, item in shape["members"].items() if "location" not in item}
            found.extend(f"{at}: unknown member {key}" for key in value if key not in members)
            required = [key for key in shape.get("required", []) if key in members and key not in skip]
            found.extend(f"{at}: {key} is missing" for key in required if key not in value)
            if shape.get("union") and len(value) != 1:
                found.append(f"{at}: a union with {len(value)} members")
            for key, item in value.items():
                if key in members:
                    self.check(members[key]["shape"], item, f"{at}.{key}", found)
        if kind == "list":
            for i, item in enumerate(value):
                self.check(shape["member"]["shape"], item, f"{at}[{i}]", found)
        if kind == "map":
            for key, item in value.items():
                self.check(shape["key"]["shape"], key, f"{at}.{key}", found)
                self.check(shape["value"]["shape"], item, f"{at}.{key}", found)
        if kind == "blob":
            base64.b64decode(value, validate=True)
        if "enum" in shape and value not in shape["enum"]:
            found.append(f"{at}: {value!r} is none of {shape['enum']}")
        if "pattern" in shape and not re.fullmatch(shape["pattern"], value):
            found.append(f"{at}: {value!r} does not match {shape['pattern']}")
        size = value if kind in ("integer", "long", "float", "double") else len(value) if kind != "boolean" else None
        if kind == "blob":
            size = len(base64.b64decode(value))
        if size is not None and not shape.get("min", size) <= size <= shape.get("max", size):
            found.append(f"{at}: {size} is not in {shape.get('min')}..{shape.get('max')}")


def load_schema():
    try:
        from botocore.loaders import Loader
    except ImportError:
        return None
    return Schema(Loader().load_service_model("bedrock-runtime", "service-2"))
