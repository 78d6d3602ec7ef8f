"""The command that runs another one, and learns from it when it fails."""

import shlex
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import AsJson, Options, options
from .output import complain, printable, write

if TYPE_CHECKING:
    from reflexion_client.model import Enqueued, Recall
    from reflexion_client.reflection import Reflection
    from reflexion_client.sync import Client

SOURCE = "reflexionctl run"
TOOL = "bash"
"""The name under which the rules of reflection know a command."""

DEADLINE_S = 1.5
"""How long a failed command is kept from returning, at most."""
RECALL_S = 0.9
"""The part of it that recalling may use up; the rest is the report's."""
START_S = 5.0
"""How long to wait for a daemon that has to be started first (REFLEXIOND_AUTOSTART)."""


def run(
    ctx: typer.Context,
    command: Annotated[
        list[str], typer.Argument(metavar="CMD...", help="The command and its arguments.")
    ],
    task: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What the command is run for; its own text otherwise."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a command, its streams and exit code untouched; report it if it fails.

    After a failure, stderr says what probably went wrong, what to try, and what is
    already known about it. A command that succeeds is none of our business.
    """
    from .child import NotRunnable, run_child

    given = options(ctx, as_json=as_json)
    try:
        finished = run_child(command)
        code, output, worth_it = finished.exit_code, finished.output, not finished.interrupted
    except NotRunnable as error:
        complain(str(error))
        code, output, worth_it = error.exit_code, str(error), True
    if code != 0 and worth_it:
        line = shlex.join(command)
        _learn(given, _Failed(Path(command[0]).name, line, task, code, output))
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A command that failed: its name and text, what it was for if told, code and output."""

    program: str
    line: str
    task: str | None
    code: int
    output: str


def _learn(given: Options, failed: _Failed) -> None:
    """Report a failure and say on stderr what is known; the command's result comes first.

    Nothing that goes wrong here may change that result, so everything ends in one line.
    """
    try:
        note, reflection = _reflect(failed)
        if not given.as_json:
            _tell(note)
        known, job = _exchange(given, failed, reflection.root_cause)
        if given.as_json:
            _tell(_document(failed.code, reflection, known, job))
        else:
            if known:
                _tell(known.section)
            complain(f"reported as job {job.id}")
    except KeyboardInterrupt:
        complain("the failure was not reported: interrupted")
    except Exception as error:  # noqa: BLE001 - see above
        hint = getattr(error, "hint", "")
        complain(f"the failure was not reported: {error}" + (f"; {hint}" if hint else ""))


def _reflect(failed: _Failed) -> "tuple[str, Reflection]":
    """Return the note that names the program, and the judgement that it tells of."""
    import json

    from reflexion_client.reflection import Failure, HeuristicReflector, format_system_note

    asked = json.dumps({"command": failed.line})
    failure = Failure(TOOL, asked, failed.output, f"exit status {failed.code}")
    reflection = HeuristicReflector().reflect(failure)
    return format_system_note(failed.program, reflection), reflection


def _exchange(given: Options, failed: _Failed, cause: str) -> "tuple[Recall | None, Enqueued]":
    """Ask what is known, then report: the other way round we might be told of ourselves."""
    with given.client(source=SOURCE, connect_timeout_s=DEADLINE_S / 3, autostart=False) as client:
        _start_if_wanted(given, client)
        deadline = time.monotonic() + DEADLINE_S
        # A bare command is near every other call of the same program; its cause is what
        # tells one failure from another, in the lesson as in the question.
        task = failed.task or f"{failed.line}: {cause}"
        known = _recall(client, f"{failed.task}\n{cause}" if failed.task else task)
        job = client.enqueue(
            task,
            attempt=f"ran `{failed.line}`\n{failed.output}",
            outcome=f"ERROR: exit status {failed.code}",
            wait_s=0,
            timeout_s=max(deadline - time.monotonic(), 0.0),
        )
    return known, job


def _recall(client: "Client", task: str) -> "Recall | None":
    """Return what is known, or None if the daemon cannot say so in time."""
    from reflexion_client.errors import DaemonUnreachable, ReflexionError

    try:
        return client.recall(task, timeout_s=RECALL_S)
    except DaemonUnreachable:
        raise
    except ReflexionError:
        return None


def _start_if_wanted(given: Options, client: "Client") -> None:
    """Start a daemon where the settings ask for that and none answers."""
    from reflexion_client import autostart
    from reflexion_client._address import find_address

    _, wanted = find_address(given.socket, given.state_dir)
    if wanted and not autostart.answers(client.address.socket()):
        autostart.start(
            client.address.state_dir,
            client.address.socket,
            arguments=given.daemon_arguments(),
            timeout_s=START_S,
        )


def _tell(text: str) -> None:
    write(printable(text.rstrip("\n")), sys.stderr)


def _document(code: int, reflection: "Reflection", known: "Recall | None", job: "Enqueued") -> str:
    """Return everything as one line of JSON."""
    import json

    document: dict[str, Any] = {
        "exit_code": code,
        "reflection": asdict(reflection),
        "lessons": [asdict(lesson) for lesson in known.lessons] if known else [],
        "report": asdict(job),
    }
    return json.dumps(document, ensure_ascii=False, default=str)
