"""`taskx schema`: types for those who write a client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import parts

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "protocol.json"

USES = """
import type { ErrorCode, InitializeParams, InitializeResult } from "./protocol";
import type { Notifications, Requests } from "./protocol";

type Call = <M extends keyof Requests>(
  method: M, params: Requests[M]["params"]) => Promise<Requests[M]["result"]>;

export async function start(call: Call): Promise<string> {
  const params: InitializeParams = { protocolVersion: 1, clientInfo: { name: "x" } };
  const result: InitializeResult = await call("initialize", params);
  const nothing: null = await call("shutdown", undefined);
  const code: ErrorCode = -32600;
  const cancel: Notifications["$/cancelRequest"] = { id: "7" };
  return `${result.session.id} ${result.serverInfo.version} ${nothing} ${code} ${cancel.id}`;
}
"""

WRONG = """
import type { InitializeParams } from "./protocol";
export const params: InitializeParams = { protocolVersion: "1" };
"""


def printed(*arguments: str) -> str:
    command = [sys.executable, "-c", "from taskx.cli import taskx; taskx()", "schema"]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def test_json_schema_is_the_golden_one(request: pytest.FixtureRequest) -> None:
    document = json.loads(printed("--json"))
    assert document == json.loads(printed())
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(json.dumps(document, indent=1) + "\n")
    assert document == json.loads(GOLDEN.read_text())


def test_every_reference_of_the_schema_is_defined() -> None:
    text = printed("--json")
    document = json.loads(text)
    names = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert names <= set(document["$defs"])
    assert document["errors"]["NotInitialized"] == -32003


def compile_typescript(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / "protocol.ts").write_text(printed("--typescript"))
    (folder / "uses.ts").write_text(source)
    compiler = parts.node_modules() / "typescript" / "bin" / "tsc"
    options = ["--strict", "--noEmit", "--target", "es2022", "--module", "preserve"]
    return subprocess.run(
        [parts.node(), str(compiler), *options, "uses.ts"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("source", "good"), [(USES, True), (WRONG, False)])
def test_typescript_compiles_and_checks(tmp_path: Path, source: str, good: bool) -> None:
    done = compile_typescript(tmp_path, source)
    assert (done.returncode == 0) is good, done.stdout
