# Authentication. Recordings contain no secret.
call echo.query '{}' --record recorded
expect_in out '"x-key":"' && ! grep -rq the-key-itself recorded || fails "expected no key in the recording"
kill -STOP "${servers[0]}"
call echo.query '{}' --replay recorded
expect_code 0
kill -CONT "${servers[0]}"
call echo.free '{}'
expect_not_in out x-key
call echo.either '{}'
expect_in out "\"authorization\":\"Basic $(printf me:p:w | base64)\""
call echo.lacking '{}'
expect_code 1 && expect_in err "set nothing in tenon.yaml, plugins.config.tenon.openapi.services.echo.auth" && expect_in err "[AUTH]"
call echo.both '{}'
sent query "k=q%261"
expect_in out '"cookie":"c=c1"'
call echo.once '{"n": 1}'
expect_in out '"authorization":"Bearer t2"' # the service rejected t1
call echo.wrong '{}'
expect_code 1 && expect_in err "no token" && expect_not_in err wrong:
