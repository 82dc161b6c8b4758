#!/usr/bin/env -S python3 -IS
"""A Tenon store that is a program: it keeps threads, Tasks and memories in one file of JSON lines.

It implements what tenon/store.h describes with the requests of the component protocol (protocol.md), and uses only the
standard library. All records are in memory. A line of the file has the changes of one batch, so a batch is
saved completely or not at all; `maintain` writes the file again without what was changed or has expired. Several
processes may use the file: a lock excludes them, and each reads what the others have added.
"""
import contextlib
import errno
import fcntl
import json
import math
import os
import re
import socket
import sys
import time

PROTOCOL = "tenon.component-protocol/1-draft.1"
PAGE_BYTES = 40_000_000  # of the values in a list: an answer has at most 64 MiB
BEGIN = b'[["'  # of each line
OPTIONS = {"path", "use", "indexes"}  # all records are in memory: indexes are not needed
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")  # ideographs are words


class Failure(Exception):
    def __init__(self, code, message, **detail):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"detail": detail} if detail else {})}


def file_failure(why, path):
    """The failure for an OSError. Not every one names its file: then it is `path`."""
    full = why.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    read_only = why.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    code = "STORE_FULL" if full else "STORE_READ_ONLY" if read_only else "STORE_ERROR"
    return Failure(code, f"{why.filename or path}: {why.strerror}")


# ---- Values ----


def is_object(value):
    return isinstance(value, dict) and not (len(value) == 1 and "$bytes" in value)


def member(value, path):
    """The member at a path such as `payload.priority`, and whether it exists."""
    for name in path.split("."):
        if not is_object(value) or name not in value:
            return None, False
        value = value[name]
    return value, True


def canonical(value):
    """Equal for equal values only: in Python, True == 1."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", tuple(canonical(item) for item in value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, canonical(item)) for key, item in value.items()))
    return value


def merge(value, patch):
    """JSON Merge Patch, RFC 7396."""
    if not is_object(patch):
        return patch
    result = dict(value) if is_object(value) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), item)
    return result


def attributes_of(record):
    """What a copy of the store needs beside the value."""
    found = {"text": " ".join(sorted(words(record.get("text") or ""))) or None,
             "vector": [float(number) for number in record.get("vector") or ()] or None,
             "expires_at": record.get("expires_at")}
    return {name: value for name, value in found.items() if value is not None}


# ---- Requests: what is wrong in itself is reported before anything is done ----

REQUESTS = {  # the members of operations and queries; those before | are required
    "put": "collection key value | if text vector expires_at version",
    "merge": "collection key patch | if text vector expires_at",
    "delete": "collection key | if",
    "delete_range": "collection | from to",
    "expect": "collection key if |",
    "take": "collection patch | where order",
    "get": "collection key |",
    "list": "collection | from to where order reverse limit after keys_only attributes",
    "count": "collection | from to where",
    "search": "collection | text vector where from to limit",
    "collections": "|",
    "format": "|",
}
QUERIES = ("get", "list", "count", "search", "collections", "format")


def require(truth, message, code="INVALID"):
    if not truth:
        raise Failure(code, message)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value):
    return is_number(value) and value == int(value)


def check_batch(batch):
    require(isinstance(batch, list), "a batch must be an array of operations")
    require(len(batch) <= 10_000, "a batch has at most 10,000 operations", "LIMIT")
    for index, operation in enumerate(batch):
        try:
            require(is_object(operation) and isinstance(operation.get("op"), str), "an operation needs the member `op`")
            op = operation["op"]
            require(op in REQUESTS and op not in QUERIES, f"unknown operation `{op}`")
            check_members(op, {name: value for name, value in operation.items() if name != "op"})
        except Failure as failure:
            failure.error["detail"] = {"index": index}
            raise


def check_query(query):
    require(is_object(query) and len(query) == 1, "a query must be an object with one member")
    [(kind, wanted)] = query.items()
    require(kind in QUERIES, f"unknown query `{kind}`; expected {', '.join(QUERIES)}")
    require(is_object(wanted), f"`{kind}` must be an object")
    check_members(kind, wanted)
    both = (wanted.get("text") is None) == (wanted.get("vector") is None)
    require(kind != "search" or not both, "`search` needs either a `text` or a `vector`")


def check_members(request, members):
    required, optional = (part.split() for part in REQUESTS[request].split("|"))
    for name in required:
        given = name in members and (members[name] is not None or name in ("value", "patch"))
        require(given, f"`{request}` needs the member `{name}`")
    for name, value in members.items():
        require(name in required + optional, f"`{request}` has no member `{name}`")
        if value is not None:
            check_member(name, value)


def check_member(name, value):
    if name in ("collection", "key", "from", "to", "after"):
        require(isinstance(value, str), f"`{name}` must be a string")
        require(len(value.encode()) <= 1024, f"`{name}` has at most 1,024 bytes", "LIMIT")
    elif name == "text":
        require(isinstance(value, str), "`text` must be a string")
        require(len(value.encode()) <= 1_048_576, "`text` has at most 1 MiB", "LIMIT")
    elif name == "vector":
        require(isinstance(value, list) and value, "`vector` must be an array of numbers")
        require(len(value) <= 16_384, "a vector has at most 16,384 numbers", "LIMIT")
        require(all(is_number(item) and abs(item) < 3.5e38 for item in value), "`vector` has an item that is no number")
    elif name in ("expires_at", "limit", "version"):
        require(is_integer(value), f"`{name}` must be an integer")
        require(name != "version" or 1 <= value < 2 ** 63 - 1, "`version` must be at least 1")
        require(name != "limit" or value >= 1, "`limit` must be at least 1")
        require(name != "limit" or value <= 10_000, "the limit is at most 10,000", "LIMIT")
    elif name in ("reverse", "keys_only", "attributes"):
        require(isinstance(value, bool), f"`{name}` must be true or false")
    elif name == "order":
        require(isinstance(value, list), "`order` must be an array of member paths")
        require(len(value) <= 8, "`order` has at most 8 members", "LIMIT")
        for path in value:
            check_path(path)
    elif name == "if":
        require(is_object(value) and value, "`if` needs a `version`, a `where` or both")
        require(value.keys() <= {"version", "where"}, "`if` has `version` and `where` only")
        version = value.get("version", 0)
        require(is_integer(version) and version >= 0, "`version` must be an integer from 0 on")
        check_filter(value.get("where", {}))
    elif name == "where":
        check_filter(value)


def check_path(path):
    require(isinstance(path, str) and "\0" not in path, "a member path must be a string without NUL")
    require(len(path.encode()) <= 1024, "a member path has at most 1,024 bytes", "LIMIT")


def check_filter(where, depth=0):
    """Returns how many conditions it has."""
    require(is_object(where), "`where`: a filter must be an object of member paths")
    require(depth <= 8, "`any` in `any` more than 8 deep", "LIMIT")
    count = len(where)
    for path, wanted in where.items():
        check_path(path)
        if path == "any":
            require(isinstance(wanted, list), "`any` must be an array of filters")
            count += sum(check_filter(one, depth + 1) for one in wanted)
        elif is_object(wanted):
            require(wanted, f"`{path}`: the object has no condition")
            for name, other in wanted.items():
                check_condition(path, name, other)
    require(count <= 256, "a filter has at most 256 conditions", "LIMIT")
    return count


def check_condition(path, name, other):
    require(name in CONDITIONS, f"`{path}`: unknown condition `{name}`; use {', '.join(CONDITIONS)}")
    if name in ("lt", "le", "gt", "ge"):
        require(is_number(other) or isinstance(other, str), f"`{path}`: `{name}` needs a number or a string")
    elif name == "exists":
        require(isinstance(other, bool), f"`{path}`: `exists` needs true or false")
    elif name == "in":
        require(isinstance(other, list), f"`{path}`: `in` needs an array")
        require(len(other) <= 1000, "`in` has at most 1,000 values", "LIMIT")


# ---- Filters and orders ----


def compares(found, other, test):
    for kinds in ((int, float), (str,)):
        if isinstance(found, kinds) and isinstance(other, kinds) and not isinstance(found, bool):
            return test(found, other)
    return False


CONDITIONS = {
    "eq": lambda found, exists, other: canonical(found) == canonical(other),
    "ne": lambda found, exists, other: canonical(found) != canonical(other),
    "lt": lambda found, exists, other: compares(found, other, lambda a, b: a < b),
    "le": lambda found, exists, other: compares(found, other, lambda a, b: a <= b),
    "gt": lambda found, exists, other: compares(found, other, lambda a, b: a > b),
    "ge": lambda found, exists, other: compares(found, other, lambda a, b: a >= b),
    "in": lambda found, exists, other: canonical(found) in [canonical(item) for item in other],
    "exists": lambda found, exists, other: exists == other,
    "contains": lambda found, exists, other: isinstance(found, list) and canonical(other) in [canonical(i) for i in found],
}


def matches(value, where):
    for path, wanted in (where or {}).items():
        if path == "any":
            if not any(matches(value, one) for one in wanted):
                return False
            continue
        conditions = wanted if is_object(wanted) else {"eq": wanted}
        if not all(CONDITIONS[name](*member(value, path), other) for name, other in conditions.items()):
            return False
    return True


def rank(value):
    if value is None:
        return (0, 0)
    if isinstance(value, (bool, int, float)):
        return (1, value)
    return (2, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def words(text):
    return WORD.findall(text.casefold())


def likeness(a, b):
    length = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b)) / length if length else 0.0


# ---- The store ----


class Store:
    def __init__(self, path, **options):
        if unknown := options.keys() - OPTIONS:
            raise Failure("INVALID", f"unknown option `{min(unknown)}`; this store has `path` only")
        self.path, self.file, self.offset, self.inode, self.collections = path, None, 0, None, {}
        self.lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with self.locked():
            pass

    @contextlib.contextmanager
    def locked(self):
        """Excludes other processes, and reads what they have added."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            self.read()
            self.now = int(time.time() * 1000)
            yield
        except OSError as why:
            raise file_failure(why, self.path) from why
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def read(self):
        if not os.path.exists(self.path) or os.stat(self.path).st_ino != self.inode:  # new, or written again
            self.file = open(self.path, "a+b")
            self.inode, self.offset, self.collections = os.fstat(self.file.fileno()).st_ino, 0, {}
        self.file.seek(self.offset)
        for line in self.file:
            if self.offset == 0 and not BEGIN.startswith(line[:len(BEGIN)]):
                raise Failure("STORE_CORRUPT", f"{self.path} does not begin as a file of this store; set another `path`")
            if not line.endswith(b"\n"):  # the process that wrote it was killed: the batch was not committed
                self.file.truncate(self.offset)
                break
            try:
                self.apply(json.loads(line))
            except (ValueError, TypeError) as why:
                raise Failure("STORE_CORRUPT", f"{self.path}: byte {self.offset}: {why}") from why
            self.offset += len(line)

    def apply(self, changes):
        for collection, key, record in changes:
            if record is None:
                self.collections.get(collection, {}).pop(key, None)
            else:
                self.collections.setdefault(collection, {})[key] = record

    def append(self, changes):
        line = json.dumps(changes, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        file, written = self.file.fileno(), 0
        try:
            while written < len(line):
                written += os.write(file, line[written:])
            os.fsync(file)
        except OSError:
            os.ftruncate(file, self.offset)  # a part of the line must not stay
            raise
        self.offset += len(line)

    def get(self, collection, key):
        record = self.collections.get(collection, {}).get(key)
        return record if record and (record.get("expires_at") is None or record["expires_at"] > self.now) else None

    def select(self, collection, where=None, order=(), **range):
        """The keys of the records that match, in order."""
        start, end = range.get("from"), range.get("to")
        keys = sorted(key for key in self.collections.get(collection, {})
                      if (start is None or key >= start) and (end is None or key < end))
        keys = [key for key in keys if (record := self.get(collection, key)) and matches(record["value"], where)]
        return sorted(keys, key=lambda key: self.rank(collection, key, order))

    def rank(self, collection, key, order):
        value = self.collections[collection][key]["value"]
        return [rank(member(value, path)[0]) for path in order or ()] + [key]

    # ---- Batches ----

    def commit(self, batch):
        check_batch(batch)
        changes, results = [], []
        with self.locked():
            before = {name: dict(records) for name, records in self.collections.items()
                      if any(operation.get("collection") == name for operation in batch)}
            try:
                for index, operation in enumerate(batch):
                    results.append(self.operate(index, changes, **operation))
                if changes:
                    self.append(changes)
            except BaseException:
                for name in {operation.get("collection") for operation in batch if isinstance(operation, dict)}:
                    self.collections[name] = before.get(name, {})
                raise
        return results

    def operate(self, index, changes, op, collection, **rest):
        def write(key, value, **found_by):
            found = self.get(collection, key)
            keeps = found if op != "put" and found else {}
            version = found_by.get("version") or (found["version"] + 1 if found else 1)
            found_by = {name: found_by.get(name, keeps.get(name)) for name in ("text", "vector", "expires_at")}
            record = {"version": version, "value": value, **found_by}
            changes.append([collection, key, record])
            self.apply(changes[-1:])
            return {"version": record["version"], **({} if op == "put" else {"value": value})}

        def remove(key):
            if key in self.collections.get(collection, {}):
                changes.append([collection, key, None])
                self.apply(changes[-1:])

        key, condition = rest.pop("key", None), rest.pop("if", None)
        if op in ("put", "merge", "delete", "expect"):
            found = self.check(index, collection, key, condition, rest.get("version"))
        if op == "put":
            return write(key, **rest)
        if op == "merge":
            return write(key, merge(found["value"] if found else {}, rest.pop("patch")), **rest)
        if op == "delete":
            return remove(key) or {}
        if op == "expect":
            return {"version": found["version"] if found else 0}
        if op == "delete_range":
            keys = self.select(collection, **rest)
            for key in keys:
                remove(key)
            return {"count": len(keys)}
        if op == "take":
            keys = self.select(collection, rest.get("where"), rest.get("order"))
            if not keys:
                return {"key": None}
            return {"key": keys[0], **write(keys[0], merge(self.get(collection, keys[0])["value"], rest["patch"]))}
        raise AssertionError(op)  # check_batch has refused it

    def check(self, index, collection, key, condition, next_version=None):
        """The record, if the condition of the operation holds, and a put with a version increases it."""
        found = self.get(collection, key)
        version = found["version"] if found else 0
        expected = None
        if condition and "where" in condition and not (found and matches(found["value"], condition["where"])):
            expected = "one that matches `if`"
        if condition and "version" in condition and condition["version"] != version:
            expected = f"version {condition['version']}" if condition["version"] else "no record"
        if next_version is not None and next_version <= version:
            expected = f"one before version {next_version}"
        if expected:
            state = f"version {version}" if found else "no version"
            raise Failure("CONFLICT", f"`{key}` of `{collection}`: found {state}, expected {expected}",
                          index=index, key=key, version=version)
        return found

    # ---- Queries ----

    def query(self, query):
        check_query(query)
        [(kind, wanted)] = query.items()
        with self.locked():
            if kind == "get":
                found = self.get(**wanted)
                return found and {"version": found["version"], "value": found["value"]}
            if kind == "count":
                return len(self.select(**wanted))
            if kind == "collections":
                return {"collections": sorted(name for name, records in self.collections.items() if records)}
            if kind == "format":
                return {"version": 1, "before": 1}
            if kind == "list":
                return self.list(**wanted)
            return self.search(**wanted)

    def list(self, collection, order=(), reverse=False, limit=100, after=None, keys_only=False, attributes=False,
             **selection):
        keys, page, size = self.select(collection, order=order, **selection), [], 0
        if reverse:
            keys.reverse()
        if after is not None:
            if order and not self.get(collection, after):
                raise Failure("NOT_FOUND", f"the record `{after}`, which `after` names, no longer exists; restart the list")
            last = self.rank(collection, after, order) if order else [after]
            keys = [key for key in keys if (self.rank(collection, key, order) < last if reverse
                                            else self.rank(collection, key, order) > last)]
        for key in keys[:limit]:
            record = self.get(collection, key)
            size += 0 if keys_only else len(json.dumps(record["value"]))
            if page and size > PAGE_BYTES:
                break
            page.append({"key": key, "version": record["version"], **({} if keys_only else {"value": record["value"]}),
                         **(attributes_of(record) if attributes else {})})
        return {"records": page, "more": len(page) < len(keys)}

    def search(self, collection, text=None, vector=None, limit=100, **selection):
        found, wanted = [], set(words(text or ""))
        for key in self.select(collection, **selection):
            record = self.get(collection, key)
            if vector is not None and len(record["vector"] or ()) == len(vector):
                found.append((likeness(vector, record["vector"]), key, record))
            elif wanted and wanted <= set(has := words(record["text"] or "")):
                found.append((sum(has.count(word) for word in wanted) / len(has), key, record))
        found.sort(key=lambda one: -one[0])
        return {"records": [{"key": key, "version": record["version"], "value": record["value"], "score": score}
                            for score, key, record in found[:limit]]}

    def maintain(self):
        with self.locked():
            count = sum(map(len, self.collections.values()))
            kept = [[name, key, record] for name, records in self.collections.items()
                    for key, record in records.items() if self.get(name, key)]
            with open(self.path + ".new", "wb") as new:
                for change in kept:
                    new.write(json.dumps([change], ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
                new.flush()
                os.fsync(new.fileno())
            os.replace(self.path + ".new", self.path)
            self.read()
        return {"removed": count - len(kept), "bytes": self.offset}


# ---- The protocol ----

wire = socket.socket(fileno=3)
incoming = wire.makefile("rb")
stores = {}
with open(__file__ + ".tenon.json") as file:
    manifest = json.load(file)["plugin"]


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    wire.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = None
    while line := incoming.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(incoming.read(length)) if length is not None else None  # None: the host has closed the connection


def answer(method, params):
    if method == "initialize":
        return {"protocol": PROTOCOL, "plugin": manifest["id"], "version": manifest["version"]}
    if method == "store_open":
        stores[params["store"]] = Store(**params["options"])
    if method == "store_commit":
        return stores[params["store"]].commit(params["batch"])
    if method == "store_query":
        return stores[params["store"]].query(params["query"])
    if method == "store_maintain":
        return stores[params["store"]].maintain()
    if method == "store_close":
        del stores[params["store"]]
    return None


def answer_or_error(method, params):
    try:
        return {"result": answer(method, params)}
    except Failure as failure:
        error = failure.error
    except OSError as why:
        error = file_failure(why, "the store").error
    except (AttributeError, KeyError, TypeError, ValueError) as why:  # not what tenon/store.h describes
        error = {"code": "INVALID", "message": f"the request cannot be understood: {why}"}
    return {"error": {"code": -32000, "message": error["message"], "data": error}}


while message := receive():
    if message.get("method") == "exit":
        sys.exit(0)
    if "id" in message:
        send({"id": message["id"], **answer_or_error(message["method"], message.get("params") or {})})
