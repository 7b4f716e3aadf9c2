"""The life of a session: initialize, shutdown, exit, end of stdin. Rows P12 to P17."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import taskx
from tests.process.client import Runtime


def test_P13_initialize_says_who_serves() -> None:
    with Runtime() as runtime:
        result = runtime.initialize(clientInfo={"name": "test", "version": "1"})
        assert result["protocolVersion"] == 1
        assert result["serverInfo"] == {"name": "task-x-runtime", "version": taskx.__version__}
        assert result["providers"] == runtime.result("provider/capabilities")
        assert result["session"]["durable"] is False
        assert runtime.finish() == 0
        assert runtime.stderr() == ""


def test_P13_another_protocol_version_is_refused_and_the_right_one_still_works() -> None:
    with Runtime() as runtime:
        error = runtime.error("initialize", {"protocolVersion": 2})
        assert error["code"] == -32002
        assert error["data"] == {"serverProtocolVersion": 1}
        assert runtime.initialize()["protocolVersion"] == 1


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"dataDir": "relative/path"}, "params.dataDir"),
        ({"dataDir": 5}, "params.dataDir"),
        ({"dataDir": "/tmp/a\0b"}, "params.dataDir"),
        ({"dataDir": "/dev/null/below"}, "params.dataDir"),
        ({"dataDir": "/" + "x" * 5000}, "params.dataDir"),
        ({"sandbox": "no"}, "params.sandbox"),
        ({"protocolVersion": "1"}, "params.protocolVersion"),
        ({"sessionId": "a/b"}, "params.sessionId"),
    ],
)
def test_P14_initialize_refuses_wrong_params(params: dict[str, Any], field: str) -> None:
    with Runtime() as runtime:
        error = runtime.error("initialize", {"protocolVersion": 1, **params})
        assert error["code"] == -32602
        assert field in error["message"]
        assert runtime.initialize()["protocolVersion"] == 1


def test_P14_data_dir_and_sandbox_are_taken(tmp_path: Path) -> None:
    with Runtime() as runtime:
        result = runtime.initialize(dataDir=str(tmp_path), sandbox=False)
        assert result["session"]["durable"] is True
        assert result["capabilities"]["sandbox"] == "none"


@pytest.mark.parametrize("method", ["context/inspect", "shutdown", "no/such", "agent/run"])
def test_P12_every_other_request_waits_for_initialize(method: str) -> None:
    with Runtime() as runtime:
        assert runtime.error(method)["code"] == -32003
        runtime.notify("workspace/filesChanged", {"paths": ["a"]})
        runtime.initialize()
        assert runtime.error("initialize", {"protocolVersion": 1})["code"] == -32600


def test_P17_exit_ends_the_process_before_initialize_too() -> None:
    with Runtime() as runtime:
        runtime.notify("exit")
        assert runtime.exit_code() == 0


def test_P17_requests_after_shutdown_are_refused() -> None:
    with Runtime() as runtime:
        runtime.initialize()
        assert runtime.result("shutdown") is None
        assert runtime.error("provider/capabilities")["code"] == -32600
        assert runtime.error("shutdown")["code"] == -32600
        runtime.notify("exit")
        assert runtime.exit_code() == 0


def test_P17_end_of_stdin_acts_as_exit() -> None:
    with Runtime() as runtime:
        runtime.initialize()
        last = runtime.start("provider/capabilities")
        runtime.close_stdin()
        assert runtime.exit_code(timeout=5) == 0
        assert len(runtime.replies(last)) == 1
