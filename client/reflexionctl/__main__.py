"""Entry point of `reflexionctl`: every way to end becomes an exit code and at most one line."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

OK, REFUSED, USAGE, NO_DAEMON, TOO_LATE = 0, 1, 2, 3, 4
INTERNAL, INTERRUPTED, CLOSED_PIPE = 70, 130, 141
"""Our own bug (as in sysexits.h), and the shell's codes for SIGINT and SIGPIPE."""

DEBUG_VARIABLE = "REFLEXIONCTL_DEBUG"


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with a code of docs/cli.md."""
    _hold_standard_streams()
    sys.exit(_flushed(_guarded(arguments)))


def _guarded(arguments: list[str] | None) -> int:
    """Run the command; return its exit code. Never raises, unless asked to for debugging."""
    try:
        from typer.main import get_command

        from .app import app
        from .lean import spare_plain_text

        command = get_command(app)
        spare_plain_text(command)
        result = command(arguments, standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        # typer leaves this way after completion, and when our reader has left.
        if isinstance(end.__context__, BrokenPipeError):
            return CLOSED_PIPE
        return end.code if isinstance(end.code, int) else OK
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        # Ctrl-C at a question arrives as a refusal to answer.
        if isinstance(error.__context__, KeyboardInterrupt):
            return INTERRUPTED
        code, message = explain(error)
        complain(message)
        return code
    return result if isinstance(result, int) else OK


def explain(error: Exception) -> tuple[int, str]:  # noqa: PLR0911 - a table in the shape of a match
    """Return the exit code for an error, and the line for the user: what happened; what to do."""
    import typer

    from reflexion_client.errors import (
        AmbiguousId,
        CallTimeout,
        ConfigError,
        DaemonUnreachable,
        ReflexionError,
    )

    match error:
        case typer.TyperException():
            return USAGE, _joined(error.format_message(), _help_hint(error))
        case typer.Abort():
            return REFUSED, "nothing was done"
        case DaemonUnreachable():
            return NO_DAEMON, _joined(str(error), error.hint)
        case ConfigError():
            return USAGE, _joined(str(error), error.hint)
        case CallTimeout():
            return TOO_LATE, _joined(str(error), "see whether `reflexionctl status` answers")
        case AmbiguousId():
            matches = ", ".join(map(str, error.data.get("matches", ())))  # type: ignore[call-overload]
            return REFUSED, _joined(f"{error} ({matches})" if matches else str(error), error.hint)
        case ReflexionError():
            return REFUSED, _joined(str(error) or error.code, error.hint)
        case _:
            what = f"internal error: {type(error).__name__}: {error}"
            return INTERNAL, _joined(what, f"set {DEBUG_VARIABLE}=1 to see where, and report it")


def complain(message: str) -> None:
    """Print one line on stderr."""
    from .output import complain as write

    write(message)


def _joined(what: str, hint: str) -> str:
    return f"{what.rstrip('. ')}; {hint}" if hint else what


def _help_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"see `{context.command_path if context else 'reflexionctl'} --help`"


def _hold_standard_streams() -> None:
    """Fill closed standard streams, so that no file of ours ever becomes "stdout"."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # A terminal that cannot show a character is no reason to fail.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _flushed(code: int) -> int:
    """Flush here: at exit Python could only print a traceback about a closed pipe."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code or CLOSED_PIPE
    return code


if __name__ == "__main__":
    main()
