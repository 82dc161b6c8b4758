"""What the measurements of Tenon and of its peer share."""
import random
import time

LIMIT_S = 900


def until(condition, what, pause=0.02):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited %d seconds: %s" % (LIMIT_S, what))
        time.sleep(pause)


def resident_kib(process):
    with open("/proc/%d/status" % process) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def percentiles(values_ms):
    ordered = sorted(values_ms)
    return {"p50_ms": ordered[len(ordered) // 2], "p99_ms": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
            "max_ms": ordered[-1]}


def pause_ms(number):
    """Before the job with this number is created: 20 to 60 ms, so that jobs come at all times of an interval of polling."""
    return random.Random(number).uniform(20, 60)
