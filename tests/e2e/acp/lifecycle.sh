# The life of a connection and of its sessions, content, settings, and mistakes of a client.
script lifecycle
