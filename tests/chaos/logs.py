"""The logs of threads, without what may differ between a disturbed and an undisturbed run of the same Task."""
import re

# Ids that derive from the incarnation, which is random: of messages, and of interrupts.
MESSAGE_ID = re.compile(r"^m-[0-9a-f]{16}-")
UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")

# Members whose value depends on when, where and how often the Task was claimed.
#   of the record: fence (of the claim), batches (commits of all claims), changed and snapshot (bytes, with the worker's name)
#   of an Artifact: artifact_id. Of the claimed Task in the input: who has claimed it, until when, in which attempt
VARYING = {"now", "run_id", "incarnation", "seed", "fence", "batches", "changed", "snapshot", "owner", "created_at", "updated_at", "ended_at",
           "artifact_id", "attempt", "attempts", "claimed_by", "claim_expires_at", "runner_id", "duration_ms"}


def normalised(value, key=None):
    if isinstance(value, dict):
        return {name: normalised(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [normalised(item, key) for item in value]
    if key in VARYING and value is not None:
        return "-"
    if isinstance(value, str):
        return "m-" + value[19:] if MESSAGE_ID.match(value) else value
    return value


def difference(one, other, path=""):
    """Where two values differ first, as text; None if they are equal."""
    if type(one) is not type(other):
        return "%s: %.200s, expected %.200s" % (path, one, other)
    if isinstance(one, dict):
        for name in sorted(one.keys() | other.keys()):
            if name not in one or name not in other:
                return "%s.%s: %s" % (path, name, "missing" if name not in one else "unexpected: %.200s" % one[name])
            found = difference(one[name], other[name], path + "." + name)
            if found:
                return found
    elif isinstance(one, list):
        if len(one) != len(other):
            return "%s: %d items, expected %d: %.300s" % (path, len(one), len(other), one)
        for index, (a, b) in enumerate(zip(one, other)):
            found = difference(a, b, "%s[%d]" % (path, index))
            if found:
                return found
    elif one != other:
        return "%s: %.200s, expected %.200s" % (path, one, other)
    return None
