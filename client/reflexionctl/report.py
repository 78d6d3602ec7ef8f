"""The command that reports a failure by hand or from a script."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .context import SOURCE, AsJson, Misused, options
from .output import print_json, say


class TriggerChoice(StrEnum):
    """Why a report is made."""

    ERROR = "error"
    HALLUCINATION = "hallucination"
    LOW_QUALITY = "low_quality"
    MANUAL = "manual"


def report(
    ctx: typer.Context,
    *,
    task: Annotated[str, typer.Option(help="What was to be done.")],
    attempt: Annotated[str, typer.Option(help="What was tried.")] = "",
    attempt_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read what was tried from a file; `-` reads stdin."),
    ] = None,
    outcome: Annotated[str, typer.Option(help="How it ended.")] = "",
    trigger: Annotated[
        TriggerChoice, typer.Option(help="Why it is worth a lesson.")
    ] = TriggerChoice.ERROR,
    workspace: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="The project; that of this folder otherwise."),
    ] = None,
    source: Annotated[str, typer.Option(metavar="NAME", help="The tool that reports.")] = SOURCE,
    wait: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="How long to wait for a slot in a full queue."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Report a failure by hand or from a script. Returns when it is on disk."""
    given = options(ctx, as_json=as_json)
    if attempt_file is not None:
        if attempt:
            raise Misused("give either --attempt or --attempt-file")
        attempt = _read(attempt_file)
    # The call may take as long as the wait that was asked for.
    call_timeout_s = 10.0 + (wait or 0.0)
    with given.client(source=source, workspace=workspace, call_timeout_s=call_timeout_s) as client:
        job = client.enqueue(
            task, attempt=attempt, outcome=outcome, trigger=trigger.value, wait_s=wait
        )
    if given.as_json:
        print_json({"id": job.id, "outcome": job.outcome, "state": job.state})
    else:
        say(f"{job.outcome}: job {job.id} is {job.state}")


def _read(name: str) -> str:
    import sys

    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise Misused(f"cannot read {name}: {error.strerror}") from error
    return data.decode("utf-8", "replace")
