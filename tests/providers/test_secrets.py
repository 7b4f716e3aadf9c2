"""A key appears nowhere in what the process writes, whatever it is made to say."""

from __future__ import annotations

import base64
import signal
import socket
from pathlib import Path
from urllib.parse import quote

from tests.process.client import Runtime
from tests.providers.fakes.script import HELLO
from tests.providers.fakes.server import Reply, Server, json_reply
from tests.providers.kinds import KINDS, Chat, ask

KEY = "sk-very+secret/0123456789=="


def forms() -> list[bytes]:
    """The key as any layer might write it."""
    encoded = base64.b64encode(KEY.encode())
    return [
        KEY.encode(),
        quote(KEY, safe="").encode(),
        encoded,
        KEY[3:].encode(),
        KEY[:14].encode(),
    ]


def test_V01_no_key_in_anything_the_process_wrote(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
    environment = {"TASK_X_LOG": "trace", "PYTHONFAULTHANDLER": "1"}
    with Runtime("--data-dir", str(tmp_path), environment=environment) as runtime:
        runtime.initialize()
        for kind in KINDS.values():
            with Server() as server, kind.serve(HELLO) as strict:
                quoting = json_reply(401, {"error": {"message": f"no such key: {KEY}"}})
                html = Reply(200, {"content-type": "text/html"}, f"<p>{KEY}</p>".encode())
                cut = Reply(200, {}, f'data: {{"x": "{KEY}'.encode(), end="close")
                server.replies.extend(
                    [quoting, html, cut, quoting, Reply(307, {"location": "http://127.0.0.1:1/"})]
                )
                for _ in range(3):
                    assert Chat(runtime, kind.config(server, apiKey=KEY), ask()).error
                for method in ("provider/listModels", "provider/test"):
                    config = kind.config(server, apiKey=KEY, timeoutMs=2000)
                    runtime.error(method, {"provider": config})
                for config in (
                    kind.config(strict, apiKey=KEY),  # refused, or for Ollama answered
                    kind.config(closed, apiKey=KEY),
                    kind.config("http://models.example", apiKey=KEY),  # plain http
                    kind.config(strict, apiKey=KEY, model=""),
                    kind.config(strict, apiKey=KEY, extra=1),
                    kind.config(strict, apiKey=KEY + "\n"),
                ):
                    assert Chat(runtime, config, ask()).reply
                assert runtime.error("chat/send", {"provider": KEY, "request": ask()})
        assert runtime.error("chat/send", {"provider": {"apiKey": [KEY]}, "request": ask()})
        # In the middle of a stream the process ends with a trace of every thread.
        with Server() as server:
            server.replies.append(Reply(200, {}, b": hi\n\n", end="hang"))
            Chat(runtime, KINDS["openai"].config(server, apiKey=KEY), ask())
            assert server.hanging.wait(10)
            runtime.signal(signal.SIGABRT)
            runtime.exit_code()
        said = runtime.stderr().encode()
        assert b"Fatal Python error" in said
        wrote = said + b"".join(runtime.lines)
    wrote += b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for form in forms():
        assert form not in wrote
