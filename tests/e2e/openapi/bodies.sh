# Request bodies.
call echo.create '{"body": {"name": "Rex", "parent": {"name": "Max"}, "owner": null}}'
sent body '{"name":"Rex","parent":{"name":"Max"},"owner":null}'
expect_in out '"content-type":"application/json"'
call echo.create '{"body": {"tag": "c"}}'
expect_code 2 && expect_in err "property \`name\`"
call echo.create '{}'
expect_code 2 && expect_in err "property \`body\`"
call echo.form --yes '{"body": {"a": "b&c", "d": [1, "ü"]}}'
sent body "a=b%26c&d=1&d=%C3%BC"
call echo.parts --yes '{"body": {"a": "b", "j": {"x": 1}}}'
expect_in out 'multipart/form-data; boundary=' && expect_in out 'name=\"a\"\r\n\r\nb\r\n' && expect_in out '{\"x\":1}'
call echo.raw --yes '{"body": "aGVsbG8="}'
sent body hello
call echo.raw --yes '{"body": "no base64!"}'
expect_code 1 && expect_in err "the body must be base64"
