"""schema.py: JSON Schema, as far as the schema of the Agent Client Protocol uses it.

An object is validated strictly: a member that no part of the schema names is an error, apart from `_meta`, so that a
misspelt member is found.
"""
import json
import re

IGNORED = {"description", "title", "format", "default", "discriminator", "examples", "$schema"}


class Invalid(Exception):
    pass


class Schema:
    def __init__(self, document):
        self.defs = document["$defs"] if document else None

    @classmethod
    def load(cls, path):
        if not path:
            return cls(None)
        with open(path) as file:
            return cls(json.load(file))

    def check(self, name, value):
        if self.defs is None:
            return
        known = self._check({"$ref": "#/$defs/" + name}, value, name)
        self._strict(value, known, name)

    def _strict(self, value, known, at):
        if isinstance(value, dict) and known is not None:
            unknown = set(value) - known - {"_meta"}
            if unknown:
                raise Invalid("%s: unknown members %s" % (at, sorted(unknown)))

    def _check(self, schema, value, at):
        """Returns the names of the members that the schema knows; None: any."""
        known = set()

        def add(more):
            nonlocal known
            known = None if known is None or more is None else known | more

        if schema is True:
            return None
        if schema is False:
            raise Invalid("%s: nothing is allowed here" % at)
        for keyword, rule in schema.items():
            if keyword in IGNORED or keyword.startswith("x-"):
                continue
            method = getattr(self, "_" + keyword.strip("$"), None)
            if method is None:
                raise Invalid("%s: the keyword %s is unknown to this test" % (at, keyword))
            add(method(rule, value, at, schema) or set())
        if isinstance(value, dict) and known is not None and not known and "properties" not in schema and \
                schema.get("type") in (None, "object") and not any(k in schema for k in ("$ref", "allOf", "anyOf", "oneOf")):
            return None
        return known

    def _ref(self, rule, value, at, _):
        return self._check(self.defs[rule.rsplit("/", 1)[1]], value, at)

    def _type(self, rule, value, at, _):
        kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
        for kind in rule if isinstance(rule, list) else [rule]:
            if kind in kinds and isinstance(value, kinds[kind]):
                return
            if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
                return
            if kind == "number" and isinstance(value, (int, float)) and not isinstance(value, bool):
                return
        raise Invalid("%s: expected %s, found %r" % (at, rule, value))

    def _properties(self, rule, value, at, _):
        if not isinstance(value, dict):
            return
        for name, schema in rule.items():
            if name in value:
                known = self._check(schema, value[name], "%s.%s" % (at, name))
                self._strict(value[name], known, "%s.%s" % (at, name))
        return set(rule)

    def _additionalProperties(self, rule, value, at, schema):
        if not isinstance(value, dict):
            return
        others = set(value) - set(schema.get("properties", {}))
        for name in others:
            self._check(rule, value[name], "%s.%s" % (at, name))
        return others

    _unevaluatedProperties = _additionalProperties

    def _required(self, rule, value, at, _):
        missing = [name for name in rule if isinstance(value, dict) and name not in value]
        if missing:
            raise Invalid("%s: %s is missing" % (at, missing))

    def _items(self, rule, value, at, _):
        for i, item in enumerate(value if isinstance(value, list) else []):
            known = self._check(rule, item, "%s[%d]" % (at, i))
            self._strict(item, known, "%s[%d]" % (at, i))

    def _enum(self, rule, value, at, _):
        if value not in rule:
            raise Invalid("%s: expected one of %s, found %r" % (at, rule, value))

    def _const(self, rule, value, at, _):
        if value != rule:
            raise Invalid("%s: expected %r, found %r" % (at, rule, value))

    def _minimum(self, rule, value, at, _):
        if isinstance(value, (int, float)) and value < rule:
            raise Invalid("%s: expected at least %s, found %s" % (at, rule, value))

    def _maximum(self, rule, value, at, _):
        if isinstance(value, (int, float)) and value > rule:
            raise Invalid("%s: expected at most %s, found %s" % (at, rule, value))

    def _minLength(self, rule, value, at, _):
        if isinstance(value, str) and len(value) < rule:
            raise Invalid("%s: the text is too short" % at)

    def _pattern(self, rule, value, at, _):
        if isinstance(value, str) and not re.search(rule, value):
            raise Invalid("%s: %r does not match %s" % (at, value, rule))

    def _allOf(self, rule, value, at, _):
        known = set()
        for schema in rule:
            more = self._check(schema, value, at)
            known = None if known is None or more is None else known | more
        return known if known is not None else set(value) if isinstance(value, dict) else set()

    def _anyOf(self, rule, value, at, _):
        errors, known, found = [], set(), False
        for schema in rule:
            try:
                more = self._check(schema, value, at)
                found = True
                known |= set(value) if more is None and isinstance(value, dict) else more or set()
            except Invalid as error:
                errors.append(str(error))
        if not found:
            raise Invalid("%s: no alternative fits: %s" % (at, "; ".join(errors)))
        return known

    _oneOf = _anyOf

    def _not(self, rule, value, at, _):
        try:
            self._check(rule, value, at)
        except Invalid:
            return
        raise Invalid("%s: this form is not allowed" % at)
