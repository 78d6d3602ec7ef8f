"""The `reflexiond` command: read the settings, run, exit with a code that means something."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from reflexion_client import __version__
from reflexion_client.errors import ConfigError, ReflexionError
from reflexiond.errors import (
    EXIT_CONFIG,
    DatabaseError,
    StartupError,
    StateFolderError,
    StoreFailed,
)

EXIT_BUG = 70


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line. argparse: a daemon starts without typer."""
    top = argparse.ArgumentParser(
        prog="reflexiond",
        description="Turn the failures of AI agents into lessons. Runs in the foreground.",
        epilog="Every setting: docs/configuration.md, or `reflexionctl config`.",
    )
    top.add_argument("command", nargs="?", choices=["serve"], default="serve")
    top.add_argument("--version", action="version", version=f"reflexiond {__version__}")
    top.add_argument("--config", metavar="FILE", help="the settings file to read")
    top.add_argument("--state-dir", metavar="DIR", help="where the database and the lock live")
    top.add_argument("--socket", metavar="PATH", help="where to listen")
    top.add_argument("--log-level", metavar="LEVEL", help="debug, info, warning or error")
    top.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="any other setting, such as --set queue.workers=4; may be repeated",
    )
    return top


def overrides(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings given on the command line, by key.

    Raises:
        ConfigError: a `--set` that is not KEY=VALUE.
    """
    given = {
        "state_dir": arguments.state_dir,
        "socket": arguments.socket,
        "log.level": arguments.log_level,
    }
    found = {key: value for key, value in given.items() if value is not None}
    for pair in arguments.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair}: expected KEY=VALUE, such as queue.workers=4")
        found[key] = value
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the daemon; return the exit code."""
    arguments = parser().parse_args(argv)
    try:
        from reflexiond import settings  # noqa: PLC0415 - errors of ours must be caught below
        from reflexiond.observe import logs  # noqa: PLC0415

        env = dict(os.environ)
        if arguments.config:
            env["REFLEXIOND_CONFIG"] = str(Path(arguments.config).absolute())
        loaded = settings.load(overrides=overrides(arguments), env=env)
        logs.set_up(loaded.log_level)

        from reflexiond import daemon  # noqa: PLC0415

        daemon.run(loaded)
    except ConfigError as error:
        return _fail(error, EXIT_CONFIG)
    except StartupError as error:
        return _fail(error, error.exit_code)
    except StoreFailed as error:
        return _fail(error, DatabaseError.exit_code)
    except ReflexionError as error:
        return _fail(error, EXIT_BUG)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(
            StateFolderError(
                f"the state folder or the socket cannot be used: {error.strerror or error}{where}; "
                "mend that, or choose another --state-dir"
            ),
            StateFolderError.exit_code,
        )
    return 0


def _fail(error: ReflexionError, code: int) -> int:
    sys.stderr.write(f"reflexiond: {error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
