# The protocol over HTTP.
needs_http
script web
