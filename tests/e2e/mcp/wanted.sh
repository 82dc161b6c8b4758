# Servers are started and waited for only if their tools are wanted.
script wanted
