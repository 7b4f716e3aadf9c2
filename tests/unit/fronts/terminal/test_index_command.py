"""`taskx index --export` and `--import`: an index made once, opened elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

TASKX = str(Path(sys.executable).with_name("taskx"))


def index(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    environment.pop("TASK_X_CACHE", None)
    return subprocess.run(
        [TASKX, "index", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
    )


def stats(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["stats"]


def test_an_imported_index_leaves_only_what_differs_to_parse(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for number in range(20):
        (made / f"m{number}.py").write_text(f"def job_{number}():\n    return {number}\n")
    export = tmp_path / "index.export"
    first = stats(index(tmp_path / "one", str(made), "--export", str(export), "--json"))
    assert (first["parsed"], first["symbols"]) == (20, 20)

    other = Path(shutil.copytree(made, tmp_path / "other"))
    (other / "m3.py").write_text("def job_3_renamed():\n    return 3\n")
    done = index(tmp_path / "two", str(other), "--import", str(export), "--json")
    assert "19 files need no parsing" in done.stderr
    second = stats(done)
    assert (second["files"], second["parsed"], second["symbols"]) == (20, 1, 20)


def test_what_is_no_export_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "bad.export").write_bytes(b"not an index")
    for name in ("bad.export", "missing.export"):
        file = str(tmp_path / name)
        done = index(tmp_path / "cache", str(tmp_path), "--import", file)
        assert done.returncode == 1
        assert name in done.stderr
        assert "Traceback" not in done.stderr
