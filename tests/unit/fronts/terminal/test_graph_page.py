"""`taskx graph --html`: one page, with nothing loaded from elsewhere and every name escaped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

TASKX = str(Path(sys.executable).with_name("taskx"))


def make_page(root: Path, out: Path) -> str:
    subprocess.run(
        [TASKX, "graph", str(root), "--html", str(out)],
        check=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, "TASK_X_CACHE": "off"},
    )
    return out.read_text(encoding="utf-8")


def test_W10_the_page_holds_both_levels_and_what_is_behind_an_edge(tmp_path: Path) -> None:
    root = tmp_path / "<b>"
    (root / "lib").mkdir(parents=True)
    (root / "app").mkdir()
    (root / "lib" / "tools.py").write_text("def grind(beans):\n    return beans\n")
    (root / "app" / "main.py").write_text("from lib.tools import grind\n\ngrind(1)\n")
    (root / "app" / "x<script>.py").write_text("from lib.tools import grind\n")
    page = make_page(root, tmp_path / "graph.html")
    assert "<title>&lt;b&gt;" in page

    scripts: list[str] = []
    loaded: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            loaded.extend(value or "" for name, value in attrs if name in ("src", "href"))
            if tag == "script":
                scripts.append(dict(attrs).get("type") or "")

    Reader().feed(page)
    assert loaded == []
    assert scripts == ["application/json", "", ""]

    found = re.search(r'id="data">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found[1])
    assert {node["id"] for node in data["levels"]["module"]["nodes"]} == {"app", "lib"}
    assert "app/x<script>.py" in {node["id"] for node in data["levels"]["file"]["nodes"]}
    behind = data["behind"]["app\nlib\nimport"]
    assert ["app/main.py", "lib/tools.py", ["grind"]] in behind
    assert data["behind"]["app/main.py\nlib/tools.py\nimport"] == [
        ["app/main.py", "lib/tools.py", ["grind"]]
    ]


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    done = subprocess.run(
        [TASKX, "graph", str(tmp_path), "--html", str(tmp_path / "no" / "page.html")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "TASK_X_CACHE": "off"},
    )
    assert done.returncode == 1
    assert "page.html: No such file or directory" in done.stderr
