"""Which files an open workspace has, its project and its instructions, through the real process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.process.client import Message, Runtime


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/excludes\n")
    (home / "excludes").write_text("*.mine\n")
    environment: dict[str, str | None] = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "cfg")}
    with Runtime(environment=environment) as run:
        run.initialize()
        yield run


def write(root: Path, files: Mapping[str | bytes, str]) -> None:
    for name, text in files.items():
        path = os.path.join(os.fsencode(root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)


def opened(runtime: Runtime, root: Path, **params: object) -> Message:
    result: Message = runtime.result("workspace/open", {"root": str(root), **params})
    return result


def definers(runtime: Runtime, name: str) -> list[str]:
    found = runtime.result("workspace/symbols", {"query": name})["symbols"]
    return sorted(symbol["path"] for symbol in found if symbol["name"] == name)


def test_W13_rows_60_to_75_hostile_trees_open_with_the_files_git_would_show(
    runtime: Runtime, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    source = "def here():\n    pass\n"
    write(
        root,
        {
            ".gitignore": "\ufeff*.log.py\r\nbuild/\r\n!build/keep/\r\n",
            "sub/.gitignore": "!keep.log.py\n",
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/objects/.keep": "",
            ".git/refs/.keep": "",
            ".git/info/exclude": "private/\n",
            "a.py": source,
            "b.log.py": source,
            "sub/keep.log.py": source,
            "build/keep/c.py": source,
            "private/d.py": source,
            "e.mine": source,
            b"caf\xe9.py": source,
            "new\nline.py": source,
            "skipped/f.py": source,
            ".taskxignore": "*.gen.py\n",
            "g.gen.py": source,
            ".git/hooks/h.py": source,
        },
    )
    for name in ("fifo.py", "tsconfig.json", "other/.gitignore"):
        (root / name).parent.mkdir(exist_ok=True)
        os.mkfifo(root / name)
    for name, target in {"loop": ".", "one": "two", "two": "one", "link.py": "a.py"}.items():
        (root / name).symlink_to(target)
    summary = opened(runtime, root, exclude=["skipped/"])
    assert definers(runtime, "here") == ["a.py", "caf\ufffd.py", "new\nline.py", "sub/keep.log.py"]
    assert summary["stats"]["files"] == 7
    assert summary["excludes"] == ["skipped/"]
    assert summary["project"]["git"] == {"branch": "main", "head": None, "dirty": False}


def test_W07_W12_every_question_takes_the_same_forms_of_a_path(
    runtime: Runtime, tmp_path: Path
) -> None:
    """Relative, with dots, absolute, and as replies show a name that is not UTF-8."""
    root = tmp_path / "tree"
    source = "def here():\n    pass\n"
    user = "from sub.a import here\n\nhere()\n"
    write(
        root, {"sub/__init__.py": "", "sub/a.py": source, "b.py": user, b"sub/caf\xe9.py": source}
    )
    opened(runtime, root)
    for given in ("sub/a.py", "./sub/../sub//a.py", str(root / "sub" / "a.py")):
        assert runtime.result("workspace/outline", {"path": given})["path"] == "sub/a.py"
        links = runtime.result("graph/file", {"path": given})
        assert (links["path"], links["usedBy"][0]["path"]) == ("sub/a.py", "b.py")
        assert runtime.result("graph/impact", {"paths": [given]})["files"][0]["path"] == "b.py"
        focused = runtime.result("context/retrieve", {"query": "here", "focusPaths": [given]})
        assert focused["retrieval"]["snippets"][0]["path"] == "sub/a.py"
    odd = "sub/caf\ufffd.py"
    outline = runtime.result("workspace/outline", {"path": odd})
    assert (outline["path"], outline["symbols"][0]["name"]) == (odd, "here")
    assert runtime.result("graph/file", {"path": odd})["path"] == odd
    for method, params in (
        ("workspace/outline", {"path": "../tree2/a.py"}),
        ("graph/file", {"path": "/etc/passwd"}),
        ("graph/impact", {"paths": ["sub/../../x"]}),
    ):
        error = runtime.error(method, params)
        assert error["code"] == -32602
        assert "outside the workspace" in error["message"]


def test_W13_tracked_files_are_indexed_though_ignored(runtime: Runtime, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(root, {".gitignore": "gen/\n", "gen/kept.py": "def kept(): pass\n", "gen/other.py": ""})
    for arguments in (["init", "-q"], ["add", "-f", "gen/kept.py"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, timeout=60)
    assert opened(runtime, root)["stats"]["files"] == 2
    assert definers(runtime, "kept") == ["gen/kept.py"]


def test_W14_instructions_of_the_workspace_and_of_folders(runtime: Runtime, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(
        root,
        {
            "AGENTS.md": "Root rules.",
            "src/CLAUDE.md": "x" * 40_000,
            "lib/AGENTS.md": "Not for src.",
            ".cursor/rules/style.mdc": "Style.",
            "src/billing.py": "def invoice_total():\n    return 1\n",
        },
    )
    summary = opened(runtime, root)
    assert summary["instructions"] == [
        {"source": ".cursor/rules/style.mdc", "scope": "workspace", "dir": "", "truncated": False,
         "bytes": 6},
        {"source": "AGENTS.md", "scope": "workspace", "dir": "", "truncated": False, "bytes": 11},
        {"source": "lib/AGENTS.md", "scope": "directory", "dir": "lib", "truncated": False,
         "bytes": 12},
        {"source": "src/CLAUDE.md", "scope": "directory", "dir": "src", "truncated": True,
         "bytes": 40_000},
    ]  # fmt: skip
    found = runtime.result("context/retrieve", {"query": "invoice_total"})
    assert [(item["source"], len(item["content"])) for item in found["instructions"]] == [
        (".cursor/rules/style.mdc", 6),
        ("AGENTS.md", 11),
        ("src/CLAUDE.md", 32 * 1024),
    ]


def test_W01_the_project_is_what_the_repository_declares(runtime: Runtime, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(
        root,
        {
            "package.json": '{"name": "shop", "scripts": {"test": "vitest"}}',
            "api/pyproject.toml": "[tool.mypy]\n",
            "api/app.py": "x = 1\n",
        },
    )
    project = opened(runtime, root)["project"]
    languages = {row["language"]: row["files"] for row in project.pop("languages")}
    assert languages == {"json": 1, "toml": 1, "python": 1}
    assert project == {
        "name": "shop",
        "manifests": ["package.json", "api/pyproject.toml"],
        "packageManagers": ["npm", "pip"],
        "frameworks": [],
        "checks": [
            {"id": "npm:test", "kind": "test", "command": "npm run test", "dir": ".",
             "source": "package.json"},
            {"id": "api:mypy", "kind": "typecheck", "command": "mypy .", "dir": "api",
             "source": "api/pyproject.toml"},
        ],
        "git": None,
    }  # fmt: skip
    write(root, {"Makefile": "lint:\n\ttrue\n"})
    runtime.notify("workspace/filesChanged", {"paths": ["Makefile"]})
    runtime.notification("workspace/progress", lambda event: event["phase"] == "updated")
    checks = runtime.result("context/inspect")["project"]["checks"]
    assert "make:lint" in [check["id"] for check in checks]
