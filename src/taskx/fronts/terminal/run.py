"""`taskx run`: one task of the agent in a repository, watched and answered at a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskx.fronts.terminal import chat, workspace
from taskx.fronts.terminal.output import fail

if TYPE_CHECKING:
    from taskx.app import App
    from taskx.protocol.agent import AgentRunParams, Summary
    from taskx.protocol.providers import ProviderConfig

EXAMPLE = """\
example: taskx run "make the tests of the parser pass" --provider work
         taskx run "how are sessions stored?" --mode ask --provider ollama --model qwen3
         taskx run "rename Foo to Bar" --policy auto --json --provider work < /dev/null"""

EXIT_CODES = {"completed": 0, "cancelled": 130}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help="what is to be done; - reads it")
    chat.add_provider(parser)
    workspace.add_root(parser)
    parser.add_argument("--mode", choices=("agent", "ask", "plan"), default="agent", help="(agent)")
    parser.add_argument(
        "--policy",
        choices=("readOnly", "manual", "acceptEdits", "auto"),
        default="manual",
        help="what runs without asking: nothing that changes, edits, commands too (manual)",
    )
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="run unasked")
    parser.add_argument("--deny", action="append", default=[], metavar="RULE", help="never run")
    parser.add_argument("--allow-all", action="store_true", help="ask about nothing")
    parser.add_argument("--no-sandbox", action="store_true", help="do not confine commands")
    parser.add_argument("--max-cost", type=float, metavar="USD", help="end the task there")
    parser.add_argument("--max-iterations", type=int, default=50, metavar="N", help="(50)")
    parser.add_argument(
        "--data-dir", metavar="DIR", help="keep the task and its edits there, to go on or undo"
    )
    parser.add_argument("--task", metavar="ID", help="go on with a task of the data dir")
    parser.add_argument("--json", action="store_true", help="print the raw events, one a line")


def run(arguments: Namespace) -> int:
    root = Path(arguments.root).resolve()
    if not root.is_dir():
        fail(f"{arguments.root} is not a folder: name the folder of a repository")
    if arguments.prompt == "-":
        arguments.prompt = sys.stdin.read()
    provider, model_given = chat.provider_of(arguments)
    return workspace.run(_run(arguments, root, provider, model_given))


async def _run(
    arguments: Namespace, root: Path, provider: ProviderConfig, model_given: bool
) -> int:
    from taskx.app import App
    from taskx.sessions.lease import LeaseTaken
    from taskx.sessions.record import Session, fresh_id

    settings = _settings(arguments)
    try:
        session = Session(fresh_id(), settings.data_dir)
    except (OSError, LeaseTaken) as error:
        fail(f"--data-dir: {error}", code=3)
    sandbox = settings.config.sandbox and not arguments.no_sandbox
    app = App(settings, settings.data_dir, sandbox, session)
    try:
        async with workspace.opened(root, arguments) as opened:
            app.workspace = opened
            await asyncio.to_thread(app.tools.prepare, root)
            try:
                if not model_given:
                    provider = await chat.first_model(app.providers, provider)
                summary = await _task(app, arguments, provider)
            finally:
                app.workspace = None
                await app.close()
    finally:
        session.close("exit")
    return EXIT_CODES.get(summary.status, 1)


def _settings(arguments: Namespace) -> Any:
    from taskx.config import Settings, find

    settings = Settings()
    settings.config = find(arguments.environment, arguments.config)
    if arguments.data_dir is not None:
        settings.data_dir = os.path.abspath(arguments.data_dir)
    settings.environment = arguments.environment
    return settings


def _params(arguments: Namespace, provider: ProviderConfig) -> AgentRunParams:
    import msgspec

    from taskx.protocol.agent import AgentRunParams

    limits: dict[str, Any] = {"maxIterations": arguments.max_iterations}
    if arguments.max_cost is not None:
        limits["maxCostUsd"] = arguments.max_cost
    given = {
        "prompt": arguments.prompt,
        "provider": msgspec.to_builtins(provider),
        "chatMode": arguments.mode,
        "policy": {
            "mode": arguments.policy,
            "allow": arguments.allow,
            "deny": arguments.deny,
            "allowAll": arguments.allow_all,
        },
        "limits": limits,
    }
    if arguments.task is not None:
        given["taskId"] = arguments.task
    try:
        return msgspec.convert(given, AgentRunParams)
    except msgspec.ValidationError as error:
        fail(str(error))


async def _task(app: App, arguments: Namespace, provider: ProviderConfig) -> Summary:
    """The task from its start to its summary. A cancelled one is saved before this raises."""
    from taskx.engines.agent import opening
    from taskx.engines.agent.defaults import filled
    from taskx.fronts.terminal.task_view import JsonView, Person, TextView

    params = filled(_params(arguments, provider), app.config.limits, app.config.prices)
    services = await asyncio.to_thread(app.agent_services)
    task_id = params.task_id if isinstance(params.task_id, str) else opening.new_task_id()
    log = app.tools.edits(services.root)
    view = JsonView(task_id) if arguments.json else TextView(log)
    task = await opening.open_task(services, params, Person(view), view.event, task_id=task_id)
    services.start_item(task_id, "task")
    services.running.add(task)
    status = "cancelled"
    try:
        summary = await task.run()
        status = summary.status
    finally:
        services.running.remove(task)
        services.end_item(task_id, status)
        view.end(task.summary("cancelled") if status == "cancelled" else summary)
    return summary
