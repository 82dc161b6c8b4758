# Responses of a service: text, bytes, no body, a body that is too long, and error statuses.
call echo.text '{}'
expect_out grüße
call seen.text '{}'
expect_in out '{"body":"grüße","headers":{"link":"<next>; rel=next"}}'
call echo.bytes '{}'
expect_in out '"media_type":"image/png"'
call echo.none '{}'
expect_out null
call echo.huge '{}'
expect_code 1 && expect_in err "[LIMIT]"
call echo.status '{"code": 404}'
expect_code 1 && expect_in err 'GET /status/{code} answered 404: {"reason":"so","key":"{secret:ECHO_KEY}"} [NOT_FOUND]'
for pair in 400:INVALID_INPUT 401:AUTH 403:PERMISSION_DENIED 409:CONFLICT 418:HTTP_STATUS 429:RATE_LIMITED 503:OVERLOADED 302:HTTP_STATUS; do
    call echo.status "{\"code\": ${pair%:*}}"
    expect_code 1 && expect_in err "[${pair#*:}]"
done

call echo.status '{"code": 302}'
expect_in err "answered 302 with a redirect to http://elsewhere.example/, which is not followed"
