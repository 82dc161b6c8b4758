# Servers that break the protocol.
script hostile
