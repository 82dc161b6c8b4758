"""store_proxy.py SERVER SOCKET: copies bytes between connections to SOCKET and SERVER, both Unix sockets."""
import socket
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
while True:
    client, _ = listener.accept()
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[1])
    for pair in ((client, server), (server, client)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
