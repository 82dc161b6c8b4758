# Parameters are serialized as OpenAPI 3.0.3 specifies (section "Style Values").
call echo.paths '{"one": "a/b ü", "two": ["x", "y"], "three": {"R": 1, "G": "2&"}}'
sent path "/path/a%2Fb%20%C3%BC/.x.y;R=1;G=2%26"
call echo.paths '{"one": "..", "two": [], "three": {}}'
expect_code 1 && expect_in err 'is empty, `.`'
call echo.query '{"plain": "a&b=c +", "many": ["x", "y z"], "number": 3}'
sent query "plain=a%26b%3Dc%20%2B&many=x&many=y%20z&number=3"
call echo.query '{"comma": ["a", "b,c"], "space": ["a", "b"], "pipe": ["a", "b"]}'
sent query "comma=a,b%2Cc&space=a%20b&pipe=a%7Cb"
call echo.query '{"deep": {"R": 100, "G": [1]}, "object": {"r": 1, "g": 2}, "flat": {"r": 1, "g": 2}}'
sent query "deep%5BR%5D=100&deep%5BG%5D=%5B1%5D&r=1&g=2&flat=r,1,g,2"
call echo.query '{"reserved": "a/b?c=d", "json": {"a": [1, "é"]}}'
sent query "reserved=a/b?c=d&json=%7B%22a%22%3A%5B1%2C%22%C3%A9%22%5D%7D"
call echo.query '{"number": 0}'
expect_code 2 && expect_in err "at /number: found the number 0, expected more than 0"
call echo.query '{"other": 1}'
expect_code 2 && expect_in err "at /other: unknown property \`other\`, expected one of"
call echo.others '{"X-List": [1, 2], "session": "a b", "id": "q", "id_header": "h"}'
sent query "id=q"
expect_in out '"x-list":"1,2"' && expect_in out '"cookie":"session=a%20b"' && expect_in out '"id":"h"' && expect_in out '"x-mine":"1"'
call echo.others '{"id_header": "a\r\nx-evil: 1"}'
expect_code 1 && expect_in err "more than one line"
