# WebSocket: RFC 6455, a second client, TLS; those limits of HTTP that need no memory to be counted; random clients.
pip_packages websocket websockets==17.4
serve_test websocket.py
serve_test limits.py 100
serve_test random_clients.py 500 "${RANDOM_SEED:-1}"
