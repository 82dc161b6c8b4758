# Tools: names, input schemas and effects.
run tenon tool list --json
expect_in out '"echo.get_no-id_x"' && expect_in out '"seen.text"' && expect_not_in out seen.query
run tenon tool show echo.create --json
expect_in out '"$ref":"#/$defs/Pet"' && expect_in out '"required":["name"]' && expect_in out '"enum":["a","b",null]'
expect_not_in out readOnly && expect_in out '"Owner":{"type":"object"'
run tenon tool show echo.create
expect_in out "    body               object, required" && expect_in out "      name             string, required"
run tenon tool show echo.raw --json
expect_in out '"destructive"],"implementation_ref":"tenon.openapi/echo.raw"'
