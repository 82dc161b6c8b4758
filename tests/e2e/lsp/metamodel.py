"""metamodel.py - a strict validator of messages, made at run time from the model of the Language Server Protocol.

    model = metamodel.load()                  # None if the file is missing
    model.check_params("textDocument/publishDiagnostics", params)
    model.check_result("textDocument/hover", result)

Both raise Mismatch, which says where and why. Every property must be in the model: a structure that the model does not call LSPAny
accepts no others.
"""
import json
import os
import pathlib
import re

URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*$")


class Mismatch(Exception):
    pass


def model_path():
    source = pathlib.Path(__file__).resolve().parents[3]
    suites = os.environ.get("TENON_SUITES") or source.parent / "shared" / "suites"
    return pathlib.Path(suites) / "lsp" / "metaModel.json"


def load():
    path = model_path()
    return Model(json.loads(path.read_text())) if path.exists() else None


def is_integer(value, low, high):
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


BASES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_integer(value, -2**31, 2**31 - 1),
    "uinteger": lambda value: is_integer(value, 0, 2**31 - 1),
    "decimal": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "URI": lambda value: isinstance(value, str) and URI.match(value) is not None,
    "DocumentUri": lambda value: isinstance(value, str) and URI.match(value) is not None,
    "RegExp": lambda value: isinstance(value, str),
}


class Model:
    def __init__(self, model):
        self.requests = {entry["method"]: entry for entry in model["requests"]}
        self.notifications = {entry["method"]: entry for entry in model["notifications"]}
        self.structures = {entry["name"]: entry for entry in model["structures"]}
        self.enumerations = {entry["name"]: entry for entry in model["enumerations"]}
        self.aliases = {entry["name"]: entry for entry in model["typeAliases"]}
        self.known_properties = {}

    # ---- What a server sends ----

    def check_params(self, method, params):
        """The parameters of a request or a notification that the server sends."""
        entry = self.requests.get(method) or self.notifications.get(method)
        if not entry:
            raise Mismatch(f"{method}: the protocol has no such method")
        if entry["messageDirection"] == "clientToServer":
            raise Mismatch(f"{method}: only clients send it")
        if "params" in entry:
            self.check(entry["params"], params, f"{method}: params")
        elif params is not None:
            raise Mismatch(f"{method}: it has no parameters; found {params!r}")

    def check_result(self, method, result):
        """The result of a request that the client sent; an unknown method is not checked."""
        entry = self.requests.get(method)
        if entry:
            self.check(entry["result"], result, f"{method}: result")

    def check_error(self, method, error):
        if not isinstance(error, dict) or not is_integer(error.get("code"), -2**31, 2**31 - 1):
            raise Mismatch(f"{method}: an error without a code: {error!r}")
        if not isinstance(error.get("message"), str) or not error["message"]:
            raise Mismatch(f"{method}: an error without a message: {error!r}")
        if set(error) - {"code", "message", "data"}:
            raise Mismatch(f"{method}: unknown members of an error: {error!r}")

    # ---- Types ----

    def check(self, wanted, value, where):
        getattr(self, "check_" + wanted["kind"])(wanted, value, where)

    def check_base(self, wanted, value, where):
        if not BASES[wanted["name"]](value):
            raise Mismatch(f"{where}: expected {wanted['name']}, found {value!r:.200}")

    def check_array(self, wanted, value, where):
        if not isinstance(value, list):
            raise Mismatch(f"{where}: expected a list, found {value!r:.200}")
        for index, item in enumerate(value):
            self.check(wanted["element"], item, f"{where}[{index}]")

    def check_tuple(self, wanted, value, where):
        if not isinstance(value, list) or len(value) != len(wanted["items"]):
            raise Mismatch(f"{where}: expected {len(wanted['items'])} items, found {value!r:.200}")
        for index, item in enumerate(value):
            self.check(wanted["items"][index], item, f"{where}[{index}]")

    def check_map(self, wanted, value, where):
        if not isinstance(value, dict):
            raise Mismatch(f"{where}: expected an object, found {value!r:.200}")
        for name, item in value.items():
            integer = wanted["key"].get("name") == "integer" and name.lstrip("-").isdigit()
            self.check(wanted["key"], int(name) if integer else name, f"{where}: name {name}")
            self.check(wanted["value"], item, f"{where}.{name}")

    def check_stringLiteral(self, wanted, value, where):
        if value != wanted["value"]:
            raise Mismatch(f"{where}: expected {wanted['value']!r}, found {value!r:.200}")

    def check_literal(self, wanted, value, where):
        self.check_properties(wanted["value"]["properties"], value, where)

    def check_and(self, wanted, value, where):
        properties = [p for item in wanted["items"] for p in self.properties(item["name"])]
        self.check_properties(properties, value, where)

    def check_or(self, wanted, value, where):
        reasons = []
        for item in wanted["items"]:
            try:
                return self.check(item, value, where)
            except Mismatch as mismatch:
                reasons.append(str(mismatch))
        # The alternative that came the furthest is the one that was meant.
        raise Mismatch(max(reasons, key=lambda reason: reason.count(".") + reason.count("[")))

    def check_reference(self, wanted, value, where):
        name = wanted["name"]
        if name == "LSPAny":
            return
        if name in self.structures:
            self.check_properties(self.properties(name), value, where)
        elif name in self.enumerations:
            self.check_enumeration(self.enumerations[name], value, where)
        else:
            self.check(self.aliases[name]["type"], value, where)

    def check_enumeration(self, entry, value, where):
        self.check(entry["type"], value, where)
        if not entry.get("supportsCustomValues") and value not in [item["value"] for item in entry["values"]]:
            raise Mismatch(f"{where}: {value!r} is not a value of {entry['name']}")

    def properties(self, name):
        """The properties of a structure with those of what it extends; its own replace inherited ones."""
        if name not in self.known_properties:
            structure, found = self.structures[name], {}
            for base in structure.get("extends", []) + structure.get("mixins", []):
                found.update((p["name"], p) for p in self.properties(base["name"]))
            found.update((p["name"], p) for p in structure["properties"])
            self.known_properties[name] = list(found.values())
        return self.known_properties[name]

    def check_properties(self, properties, value, where):
        if not isinstance(value, dict):
            raise Mismatch(f"{where}: expected an object, found {value!r:.200}")
        unknown = set(value) - {p["name"] for p in properties}
        if unknown:
            raise Mismatch(f"{where}: unknown members {sorted(unknown)}")
        for wanted in properties:
            if wanted["name"] in value:
                self.check(wanted["type"], value[wanted["name"]], f"{where}.{wanted['name']}")
            elif not wanted.get("optional"):
                raise Mismatch(f"{where}: `{wanted['name']}` is missing")
