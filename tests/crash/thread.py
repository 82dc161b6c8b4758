"""A thread as its store's file has it, read without tenon: a second opinion on what its records mean."""
import json
import os
import sqlite3


def read_lines(folder):
    try:
        with open(os.path.join(folder, "lines")) as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def applied(state, delta):
    """A checkpoint's changes; what was there for one step only goes first."""
    state = {name: value for name, value in state.items() if name not in state.get("", [])}
    state.pop("", None)
    once = []
    for name, change in delta.items():
        if "add" in change:
            state[name] = state[name][:change["keep"]] + change["add"]
        else:
            state[name] = change["set"] if "set" in change else change["once"]
            once += [name] if "once" in change else []
    if once:
        state[""] = once
    return state


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
        self.record = json.loads(self.of("threads")["t"]) if self.of("threads") else None

    def of(self, collection):
        return self.records.get(collection, {})

    def interrupts(self):
        return self.record.get("interrupts") or []

    def at(self):
        """Where it stands: how far, and what it waits for; the same however often it was resumed."""
        waits = [entry.get("node") or entry["when"] for entry in self.interrupts()]
        return self.record["step"], sorted(waits)

    def checkpoints(self):
        return [json.loads(value) for _, value in sorted(self.of("checkpoints").items())]

    def state(self):
        state = {}
        for checkpoint in self.checkpoints():
            state = applied(state, checkpoint["delta"])
        return json.dumps(state, ensure_ascii=False)

    def snapshots_fit(self):
        state, snapshots = {}, self.of("snapshots")
        for key, value in sorted(self.of("checkpoints").items()):
            state = applied(state, json.loads(value)["delta"])
            if key in snapshots and json.loads(snapshots[key])["state"] != state:
                return False
        return True

    def under_way(self):
        """How many records there are of a step that is not over."""
        return {name: len(self.of(name)) for name in ("pending", "nested") if self.of(name)}

    def known(self, lines):
        """Those of the keys that are in a record: what was done by them is known to have been done."""
        texts = "\n".join(value for records in self.records.values() for value in records.values())
        return {line for line in set(lines) if '"' + line + '"' in texts or '"' + line + " x" in texts}
