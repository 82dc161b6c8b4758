# tenon:notify shows the message of a notification, and calls no model.
is_strategy notify
run tenon run -q tenon:notify --input '{"task": {"payload": {"message": "**Done.**", "severity": "info", "related_task_id": null, "artifact_refs": []}}}'
expect_code 0 && expect_out '{"user_output":"**Done.**","task_state":"done","error":null}'
for payload in '{}' '{"message": 7}' '{"message": null}'; do
    run tenon run -q tenon:notify --input "{\"task\": {\"payload\": $payload}}"
    expect_code 0 && expect_answer task_state '"failed"' && expect_answer user_output null && expect_in out INVALID_PAYLOAD
done
run tenon run -q tenon:notify --input '{"task": {}}'
expect_code 1 && expect_in err 'missing property `payload`'
