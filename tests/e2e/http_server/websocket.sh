# WebSocket: RFC 6455, a second client, TLS; and those limits of HTTP that need no memory to be counted.
pip_packages websocket websockets==17.4
serve_test websocket.py
serve_test limits.py 100
