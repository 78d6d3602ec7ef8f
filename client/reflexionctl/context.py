"""The global options, and the client they lead to.

Command modules do without `from __future__ import annotations`: typer reads their
annotations when the program starts.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from reflexion_client.sync import Client

SOURCE = "reflexionctl"


class Misused(typer.TyperException):
    """The command line asks for something that makes no sense."""


@dataclass(frozen=True, slots=True)
class Options:
    """What was given on the command line before the verb (`--json` also after it)."""

    socket: str | None = None
    state_dir: str | None = None
    as_json: bool = False

    def client(
        self,
        *,
        source: str = SOURCE,
        workspace: str | None = None,
        connect_timeout_s: float = 1.0,
        call_timeout_s: float = 10.0,
        autostart: bool | None = None,
    ) -> "Client":
        """Return a client of the daemon that the options and settings name.

        Raises:
            ConfigError: a setting has a value that is refused.
        """
        from reflexion_client.sync import Client

        return Client(
            self.socket,
            state_dir=self.state_dir,
            source=source,
            workspace=workspace,
            connect_timeout_s=connect_timeout_s,
            call_timeout_s=call_timeout_s,
            autostart=autostart,
        )

    def daemon_arguments(self) -> list[str]:
        """Return what a daemon must be started with to be found by this client."""
        return ["--socket", str(Path(self.socket).absolute())] if self.socket else []


def options(ctx: typer.Context, *, as_json: bool) -> Options:
    """Return the global options, with `--json` as given before or after the verb."""
    given: Options = ctx.find_root().obj
    return replace(given, as_json=given.as_json or as_json)


Socket = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="The daemon's socket; found by itself otherwise."),
]
StateDir = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="The state folder of the daemon to talk to."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Limit = Annotated[int, typer.Option(min=1, metavar="N", help="The most rows to print.")]
After = Annotated[
    int | None,
    typer.Option(metavar="CURSOR", help="Go on where an earlier answer's `next` points."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Everything = Annotated[bool, typer.Option("--all", help="All of them.")]
Words = Annotated[
    list[str], typer.Argument(help="Words are joined with spaces; `-` reads standard input.")
]


def text_of(words: list[str]) -> str:
    """Return the text that the words of an argument stand for; `-` alone is standard input."""
    if words == ["-"]:
        import sys

        return sys.stdin.buffer.read().decode("utf-8", "replace")
    return " ".join(words)


def one_or_all(identifier: str | None, *, everything: bool) -> str | None:
    """Return the id, or None for all of them.

    Raises:
        Misused: neither or both were given.
    """
    if (identifier is None) != everything:
        raise Misused("give either an ID or --all")
    return identifier


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is given up for good; return only if the answer is yes.

    Raises:
        Misused: nobody is there to ask, and `--yes` was not given.
        typer.Abort: the answer is no.
    """
    import sys

    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Misused("this asks first, and there is no terminal to ask on: repeat with --yes")
    typer.confirm(question, err=True, abort=True)
