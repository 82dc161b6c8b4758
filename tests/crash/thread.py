"""Reads a thread from the file of its store, without tenon: an independent reading of the records."""
import json
import os
import re
import sqlite3


def read_lines(folder):
    try:
        with open(os.path.join(folder, "lines")) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def apply_edits(items, edits):
    made, read = [], 0
    for at, *edit in edits:
        made += items[read:at]
        if len(edit) == 1:
            made.append(apply_change(items[at], edit[0]))
            read = at + 1
        else:
            made += edit[1]
            read = at + edit[0]
    return made + items[read:]


def apply_change(value, change):
    """A value after a change (adl/value/change.h)."""
    if "set" in change:
        return change["set"]
    if "append" in change:
        return value + change["append"]
    if "keep" in change:
        return value[:change["keep"]] + change["add"]
    if "edit" in change:
        return apply_edits(value, change["edit"])
    value = {key: member for key, member in value.items() if key not in change.get("remove", [])}
    for key, member in change["members"].items():
        value[key] = apply_change(value.get(key), member)
    return value


def apply_delta(state, delta):
    """Applies the changes of a checkpoint, after removing the values that existed for one step only."""
    state = {name: value for name, value in state.items() if name not in state.get("", [])}
    state.pop("", None)
    one_step = []
    for name, change in delta.items():
        if "once" in change:
            state[name] = change["once"]
            one_step.append(name)
        else:
            state[name] = apply_change(state.get(name), change)
    if one_step:
        state[""] = one_step
    return state


def unpack_list(parts, chunks):
    """The items or members of a packed array or object: (key or None, value)."""
    for part in parts:
        if "n" in part and "c" not in part:
            yield part.get("k"), unpack(part["n"], chunks)
            continue
        some = part["v"] if "v" in part else chunks[part["c"]]
        yield from some.items() if isinstance(some, dict) else ((None, item) for item in some)


def unpack(node, chunks):
    """The value of a node (host/data/thread/thread_pack.h). `chunks`: {hash: value}."""
    if "v" in node:
        return node["v"]
    if "t" in node:
        return "".join(chunks[name] for name in node["t"])
    if "a" in node:
        return [value for _, value in unpack_list(node["a"], chunks)]
    return dict(unpack_list(node["o"], chunks))


class Thread:
    """Thread `t` of the store in the folder, as it is now."""

    def __init__(self, folder):
        self.records = {}  # {collection: {key: value}}
        self.damage = "ok"
        path = os.path.join(folder, "s.db")
        if os.path.exists(path):
            database = sqlite3.connect(path)
            self.damage = "; ".join(row[0] for row in database.execute("PRAGMA integrity_check"))
            if database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'records'").fetchone()[0]:
                for collection, key, value in database.execute("SELECT collection, key, json FROM records"):
                    if key == "t" or key.startswith("t/"):
                        self.records.setdefault(collection, {})[key] = value
            database.close()
        self.record = json.loads(self.collection("threads")["t"]) if self.collection("threads") else None

    def collection(self, name):
        return self.records.get(name, {})

    def interrupts(self):
        return self.record.get("interrupts") or []

    def position(self):
        """The position of the thread and its interrupts. Does not depend on how often it was resumed."""
        waiting = [entry.get("node") or entry["when"] for entry in self.interrupts()]
        return self.record["step"], sorted(waiting)

    def has_reached(self, other):
        return self.record["status"] == other.record["status"] and self.position() == other.position()

    def checkpoints(self):
        return [json.loads(value) for _, value in sorted(self.collection("checkpoints").items())]

    def state(self):
        state = {}
        for checkpoint in self.checkpoints():
            state = apply_delta(state, checkpoint["delta"])
        return json.dumps(state, ensure_ascii=False)

    def snapshots_match(self):
        state, snapshots = {}, self.collection("snapshots")
        chunks = {key.split("/")[-1]: json.loads(value) for key, value in self.collection("chunks").items()}
        for key, value in sorted(self.collection("checkpoints").items()):
            state = apply_delta(state, json.loads(value)["delta"])
            if key in snapshots and unpack(json.loads(snapshots[key])["node"], chunks) != state:
                return False
        return True

    def unfinished_records(self):
        """The number of records of an unfinished step."""
        return {name: len(self.collection(name)) for name in ("pending", "nested") if self.collection(name)}

    def recorded_lines(self, lines):
        """The keys that are in a record: the store knows that their actions were done."""
        found = set()
        for records in self.records.values():
            for text in records.values():
                for part in text.split('"')[1:]:
                    found.add(part)
                    found.update(part[:match.start()] for match in re.finditer(" x", part))
        return found & set(lines)
