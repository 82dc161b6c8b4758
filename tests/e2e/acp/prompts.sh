# Prompts: cancelling, approvals, questions, calls of tools, plans, usage, and a process that is killed.
script prompts
