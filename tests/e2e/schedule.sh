# `tenon schedule`: the schedules of tenon.yaml, their next due times, and a Task of one now; mistakes are reported by
# `tenon doctor` and `tenon check`.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
[ -e /usr/share/zoneinfo/Europe/Berlin ] || skips "no tzdata"
cat >tenon.yaml <<'YAML'
schedules:
  nightly: {cron: "0 3 * * mon-fri", timezone: Europe/Berlin, task: {type: report, payload: {days: 1}}}
  poll: {every: 15m, task: {type: work}, misfire: skip}
  launch: {at: "2000-12-01T09:00:00Z", task: {type: work}}
  paused: {cron: "@daily", task: {type: work}, enabled: false}
YAML

# ---- list ----
run tenon schedule list
expect_code 0 && expect_in out 'nightly  0 3 * * mon-fri  Europe/Berlin' && expect_in out '  creates report, misfire once, last -'
expect_in out 'poll  every 15m  UTC' && expect_in out 'launch  at 2000-12-01T09:00:00Z  UTC' && expect_in out 'paused  @daily  UTC  (disabled)'
[ "$(grep -c '^  next ' "$work/out")" = 6 ] || fails "expected three due times of nightly and of poll"
run tenon schedule list --next 100 --json
expect_code 0
python3 - "$work/out" <<'PYTHON' || fails "the due times are wrong"
import datetime, json, sys, zoneinfo
found = {one["name"]: one for one in json.load(open(sys.argv[1]))["schedules"]}
berlin = zoneinfo.ZoneInfo("Europe/Berlin")
nights = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(berlin) for text in found["nightly"]["next"]]
assert len(nights) == 100 and all((t.hour, t.minute, t.second) == (3, 0, 0) and t.weekday() < 5 for t in nights), nights
assert all(1 <= (b.date() - a.date()).days <= 3 for a, b in zip(nights, nights[1:])), nights
polls = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in found["poll"]["next"]]
assert all(t.timestamp() % 900 == 0 for t in polls) and (polls[-1] - polls[0]).total_seconds() == 99 * 900, polls
assert found["launch"]["next"] == [] and found["paused"]["next"] == []
PYTHON
run tenon schedule list --next 101
expect_code 2 && expect_in err '`next`: found the number 101, expected at most 100'
run tenon schedule list --no-config
expect_code 0 && expect_in err 'tenon.yaml has no schedules'

# ---- run ----
run tenon schedule run nightly
expect_code 0
id=$(cat "$work/out")
run tenon task show "$id" --json
expect_in out '"task_type":"report","payload":{"days":1},"state":"queued"'
run tenon schedule run nightly
[ "$(cat "$work/out")" != "$id" ] || fails "expected another Task"
run tenon schedule run paused --key once
first=$(cat "$work/out")
run tenon schedule run paused --key once --json
expect_in out "\"task_id\":\"$first\""
run tenon schedule run poll --key once
[ "$(cat "$work/out")" != "$first" ] || fails "a key is of one schedule"
run tenon schedule run nigthly
expect_code 1 && expect_in err 'tenon.yaml has no schedule `nigthly`; did you mean `nightly`? [NOT_FOUND]'

# ---- A running host ----
serve_start host --socket s
run tenon schedule list --connect s
expect_code 0 && expect_in out 'nightly  0 3 * * mon-fri  Europe/Berlin'
run tenon schedule run paused --key once --connect s
expect_out "$first"
servers_stop
serve_start reads --socket reads --scope read
run tenon schedule list --connect reads
expect_code 0
run tenon schedule run paused --connect reads
expect_code 1 && expect_in err '[PERMISSION_DENIED]'
servers_stop

# ---- Mistakes ----
cat >tenon.yaml <<'YAML'
schedules:
  bad: {cron: "0 25 * * *", task: {type: work}}
  nowhere: {cron: "@daily", timezone: Europe/Berlim, task: {type: work}}
  good: {every: 1h, task: {type: work}}
YAML
cat >one.yaml <<'YAML'
version: "1.0"
agent: {name: one}
channels: [{name: x, type: last_value}]
nodes: [{id: a, type: set, config: {values: {x: "1"}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
hour='schedules.bad.cron: hour, column 3: found `25`, expected 0 to 23'
zone='schedules.nowhere.timezone: found `Europe/Berlim`, expected a time zone that this machine knows'
run tenon schedule list
expect_code 1 && expect_in out "$hour" && expect_in out "$zone" && expect_in out 'good  every 1h  UTC'
run tenon schedule run bad
expect_code 1 && expect_in err "$hour [INVALID_CONFIG]"
run tenon doctor
expect_in out "$hour" && expect_in out "$zone"
run tenon check one.yaml
expect_code 0 && expect_in err "warning: tenon.yaml: $hour" && expect_in err "warning: tenon.yaml: $zone"
cat >tenon.yaml <<'YAML'
schedules:
  lost: {every: 1h, task: {type: nobody}}
  known: {every: 1h, task: {type: user_request}}
  own: {every: 1h, task: {type: own}}
  empty: {every: 1h, task: {type: notification, payload: {severity: info}}}
  tells: {every: 1h, task: {type: notification, payload: {message: Hello}}}
work: {own: {strategy: "tenon:pdca"}}
YAML
run tenon check one.yaml
expect_in err 'schedules.lost.task.type: no strategy for Tasks of the type `nobody`'
expect_in err 'schedules.empty.task.payload: found no `message`'
for name in known own tells; do expect_not_in err "schedules.$name"; done
echo 'schedules: {bad: {cron: "@daily", task: {type: work}, misfire: never}}' >tenon.yaml
run tenon schedule list
expect_code 4 && expect_in err 'tenon.yaml:1:64: `schedules.bad.misfire`: found `never`, expected `skip`, `once` or `all`'
