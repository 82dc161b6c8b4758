# The protocol through pipes.
script protocol
