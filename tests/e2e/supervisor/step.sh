# tenon:supervisor: steps that fail, large results, approvals, and a crash inside a worker.
# ---- Failures: another attempt, another plan, the end ----
plan=("flaky:A write:B")
thread=flaky
supervises "work" '{}'
expect_code 0 && expect_out "$done" && expect_log 'flaky flaky write '
expect_state '[[p["status"], p["attempts"], p["error"]] for p in s["plan"]]' '[["completed", 2, null], ["completed", 1, null]]'
plan=("research:A broken:B" "draw:C")
thread=replanned
supervises "work" '{}'
expect_code 0 && expect_out "$done" && expect_log 'research broken broken draw '
expect_state '[[p["role"], p["status"]] for p in s["plan"]]' '[["research", "completed"], ["broken", "failed"], ["draw", "completed"]]'
plan=("broken:B" "broken:C")
thread=broken
supervises "work" '{"max_attempts": 1, "max_plans": 2}'
expect_code 0 && expect_in out '"user_output":null,"task_state":"failed","error":{"code":"STEP_FAILED","message":"Step 2 (broken) failed: ' && expect_log 'broken broken '
expect_state 'notice["severity"], notice["message"][:13]' '["error", "Step 2 (broke"]'

# ---- A large result is in the Artifact, and not in the state ----
plan=(long:A)
thread=large
supervises "work" '{}'
expect_code 0 && expect_out "$done"
expect_state 'len(json.dumps(s)) < 20000, len(s["plan"][0]["result_summary"])' '[true, 1001]'
run tenon artifact read "$(state 's["plan"][0]["artifact_refs"][0]' | tr -d '"')"
expect_code 0 && [ "$(wc -l <"$work/out")" = 5000 ] || fails "expected 5000 lines in the Artifact"

# ---- A destructive tool in a worker needs approval; the rest of the run does not happen twice ----
plan=("research:A wipe:B write:C")
thread=wipe
supervises "work" '{}'
expect_code 5 && expect_in err "may team.wipe be called" && expect_in err "for delegate \`work\` of document" && expect_log 'research '
run tenon run -q tenon:supervisor --thread wipe --resume --answer "$(question)=yes"
expect_code 0 && expect_out "$done" && expect_log 'research wipe write '

# ---- Killed inside a worker: its first call, and the worker before it, are not repeated ----
plan=("research:A crash:B write:C")
thread=killed
supervises "work" '{}'
expect_code 137 && expect_log 'research first '
run tenon run -q tenon:supervisor --thread killed --resume
expect_code 0 && expect_out "$done" && expect_log 'research first second write '
expect_state '[p["attempts"] for p in s["plan"]]' '[1, 1, 1]'
run tenon replay killed
expect_code 0

# ---- A Task that is tried again continues its plan, whether the worker resumes its thread or starts it with the Task ----
plan=("research:A write:B" "no-report")
thread=again
supervises "work" '{}'
expect_code 1 && expect_in err "[AUTH]" && expect_log 'research write '
run tenon run -q tenon:supervisor --input @input.json --thread again --replace
expect_code 1 && expect_in err "[AUTH]" && expect_log 'research write '
python3 team.py work '{}' again "research:A"
run tenon run -q tenon:supervisor --thread again --resume
expect_code 0 && expect_out "$done" && expect_log 'research write '

# ---- A Task that is queued again after it has failed gets new plans; what is done stays ----
plan=("research:A broken:B")
thread=queued
supervises "work" '{"max_attempts": 1, "max_plans": 1}'
expect_code 0 && expect_in out STEP_FAILED && expect_log 'research broken '
plan=("unused:U" "write:C")
supervises "work" '{"max_attempts": 1, "max_plans": 1}'
expect_code 0 && expect_out "$done" && expect_log 'write '
expect_state '[[p["role"], p["status"]] for p in s["plan"]]' '[["research", "completed"], ["broken", "failed"], ["write", "completed"]]'

# ---- The next request in the same thread has a plan of its own ----
plan=("draw:D")
supervises "more" '{}'
expect_code 0 && expect_out "$done" && expect_log 'draw '
expect_state '[p["role"] for p in s["plan"]], [m["content"] for m in s["messages"] if m["type"] == "user"]' '[["draw"], ["work", "more"]]'
