# Authorization with OAuth.
needs_http
script authorization
