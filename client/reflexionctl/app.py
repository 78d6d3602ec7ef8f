"""The command line, put together: which verbs there are, and an example of each."""

from collections.abc import Callable
from typing import Annotated

import typer

from reflexion_client import __version__

from . import config, daemon, jobs, lessons, recall, report, run
from .context import AsJson, Options, Socket, StateDir

_HELP = {"help_option_names": ["-h", "--help"]}
# What follows the command's own name belongs to it, options and all.
_VERBATIM = {**_HELP, "allow_interspersed_args": False}


def _group(name: str, *, add_completion: bool = False) -> typer.Typer:
    return typer.Typer(
        name=name,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=add_completion,
        context_settings=_HELP,
        invoke_without_command=True,
    )


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reflexionctl {__version__}")
        raise typer.Exit


def root(
    ctx: typer.Context,
    socket: Socket = None,
    state_dir: StateDir = None,
    as_json: AsJson = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Talk to reflexiond: report failures, see what waits, recall lessons.

    Without a command, show the daemon's status.
    """
    ctx.obj = Options(socket, state_dir, as_json)
    if ctx.invoked_subcommand is None:
        daemon.show_status(ctx.obj)


app = _group("reflexionctl", add_completion=True)
app.callback(epilog="Example: reflexionctl --json status")(root)

_VERBS: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("status", daemon.status, "reflexionctl status"),
    ("run", run.run, "reflexionctl run -- pytest -x"),
    ("recall", recall.recall, 'reflexionctl recall "make the flaky upload test pass"'),
    ("reflect", lessons.reflect, 'reflexionctl reflect "run make generate before make build"'),
    (
        "report",
        report.report,
        'reflexionctl report --task "build the image" --outcome "ERROR: no space left on device"',
    ),
    ("list", jobs.list_jobs, "reflexionctl list --limit 10"),
    ("failed", jobs.failed, "reflexionctl failed --json"),
    ("history", jobs.history, "reflexionctl history --limit 10"),
    ("show", jobs.show, "reflexionctl show 3fa9"),
    ("retry", jobs.retry, "reflexionctl retry --all"),
    ("purge", jobs.purge, "reflexionctl purge 3fa9 --yes"),
    ("drain", jobs.drain, "reflexionctl drain"),
    ("config", config.config, "reflexionctl config queue.workers"),
    ("start", daemon.start, "reflexionctl start"),
    ("stop", daemon.stop, "reflexionctl stop --timeout 60"),
)
for name, function, example in _VERBS:
    app.command(
        name,
        epilog=f"Example: {example}",
        context_settings=_VERBATIM if name == "run" else _HELP,
    )(function)

_lessons = _group("lessons")
_lessons.callback(epilog="Example: reflexionctl lessons")(lessons.lessons)
_LESSON_VERBS: tuple[tuple[str, Callable[..., None], str], ...] = (
    ("list", lessons.list_lessons, "reflexionctl lessons list --limit 10"),
    ("show", lessons.show_lesson, "reflexionctl lessons show 42"),
    ("delete", lessons.delete_lesson, "reflexionctl lessons delete 42 --yes"),
)
for name, function, example in _LESSON_VERBS:
    _lessons.command(name, epilog=f"Example: {example}", context_settings=_HELP)(function)
app.add_typer(_lessons)
