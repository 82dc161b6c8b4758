# Slow and half requests, bombs, 10,000 idle connections, clients that stop reading; drain, abort and the end of a listener.
serve_test limits.py 10000
