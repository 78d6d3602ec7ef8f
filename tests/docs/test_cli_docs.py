"""The command line and its page tell of the same commands, options and exit codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer.main

from reflexionctl import __main__ as entry
from reflexionctl.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every command below this one, groups included, with its full name."""
    for child in getattr(command, "commands", {}).values():
        full = f"{name} {child.name}"
        yield full, child
        yield from commands(child, full)


COMMANDS = dict(commands(typer.main.get_command(app), "reflexionctl"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example(name: str) -> None:
    """A command says what it does, and shows one use of itself."""
    command = COMMANDS[name]
    assert len(command.help) > 20
    assert command.epilog.startswith(f"Example: {name}")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    """Each option and argument has a line of help, and `--json` is taken everywhere."""
    parameters = COMMANDS[name].params
    assert [] == [parameter.name for parameter in parameters if not parameter.help]
    assert any("--json" in parameter.opts for parameter in parameters)


def test_examples_are_valid() -> None:
    """Every example's options exist."""
    for name, command in COMMANDS.items():
        known = {option for parameter in command.params for option in parameter.opts}
        own = command.epilog.partition(" -- ")[0]
        assert set(re.findall(r"--[a-z-]+", own)) <= known, name


def test_page_has_every_command_and_no_other() -> None:
    """docs/cli.md has a section for each command."""
    assert set(COMMANDS) == set(re.findall(r"^### (reflexionctl .+)$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("name", COMMANDS)
def test_page_tells_every_option(name: str) -> None:
    """A command's own options stand on its part of the page, or among the shared ones."""
    section = PAGE.partition(f"### {name}\n")[2].partition("\n### ")[0]
    shared = {"--json", "--limit", "--after"}
    options = {opt for p in COMMANDS[name].params for opt in p.opts if opt.startswith("--")}
    assert [] == sorted(o for o in options - shared if o not in section)


def test_page_has_every_exit_code() -> None:
    """The table of exit codes is the one of the program."""
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    names = ("OK", "REFUSED", "USAGE", "NO_DAEMON", "TOO_LATE")
    more = ("INTERNAL", "INTERRUPTED", "CLOSED_PIPE")
    assert {getattr(entry, name) for name in (*names, *more)} == listed
