"""The command that shows what an agent would be told."""

from dataclasses import asdict
from typing import Annotated

import typer

from .context import AsJson, Words, options, text_of
from .output import complain, print_json, say


def recall(
    ctx: typer.Context,
    task: Words,
    *,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The most lessons to return.")
    ] = None,
    floor: Annotated[
        float | None, typer.Option(metavar="SCORE", help="The least relevance to return.")
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="The project; that of this folder otherwise."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the section that an agent would get before this task; nothing if nothing fits."""
    given = options(ctx, as_json=as_json)
    with given.client(workspace=workspace) as client:
        found = client.recall(text_of(task), limit=limit, floor=floor)
    if given.as_json:
        print_json(asdict(found))
    elif found:
        say(found.section.rstrip("\n"))
    else:
        complain("no lesson fits this task")
