# A service that is down ends the run of a strategy. When the Task is tried again, the strategy continues at the call that
# failed, and does not fail again because of the old error.
echo '{}' >tenon.yaml
task='{"task": {"task_id": "t", "task_type": "user_request", "payload": {"text": "Hello?"}}}'
down='default={"provider": "scripted", "replies": [{"error": {"code": "UNAVAILABLE", "message": "the service is down"}}]}'
up='default={"provider": "scripted", "replies": ["It is up."]}'
for name in single_turn react pdca supervisor; do
    run tenon run -q tenon:$name --thread $name --input "$task" --model "$down"
    expect_code 1 && expect_in err 'the service is down [UNAVAILABLE]'
    run tenon run -q tenon:$name --thread $name --resume --model "$up"
    expect_code 0
    case $name in
    single_turn | react) expect_in out '{"user_output":"It is up.","task_state":"done","error":null}' ;;
    pdca) expect_in out '"code":"BUDGET_EXCEEDED"' ;; # the model writes no JSON, which costs a step each time
    supervisor) expect_in out '"code":"PLAN_INVALID"' ;;
    esac
done
