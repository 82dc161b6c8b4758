# An agent searches the tools of a large catalogue instead of receiving all of them.
needs_http
script search
