"""The one place where settings are looked up, and the settings that a client has.

A setting is given on the command line, in the environment (`REFLEXIOND_...`, then its
ChatCLI name), or in `config.toml`; the first of these that has it decides, else its
default. A value that cannot be used is an error, never ignored. Values are written as Go
writes them: `1m30s`, `true`, `0.2`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ._gotext import (
    INT64_MAX,
    format_duration,
    lower,
    parse_bool,
    parse_duration_ns,
    parse_float,
    parse_int,
    trim_space,
)
from .errors import ConfigError

Kind = Literal["bool", "int", "float", "duration", "text", "path"]
Value = bool | int | float | str | None

CONFIG_VARIABLE: Final = "REFLEXIOND_CONFIG"
_SHOWN_CHARS = 80
"""How much of a refused value an error message quotes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its names, its form, its default and its bounds.

    Args:
        key: its name in `config.toml`, tables joined by dots.
        kind: how its text is read. Durations become nanoseconds, a path becomes absolute,
            its `~` the home folder.
        default: the value when nothing is set, as it is written; "" for none.
        help: what it means, in one line.
        twin: the name of ChatCLI's variable for the same thing, "" if it has none.
        minimum: the least number, in nanoseconds for a duration.
        maximum: the largest number.
        open_bounds: whether the bounds themselves are refused.
        choices: the words that are accepted; a path may also be any other text.
        option: its own option on the command line; the others are given with `--set`.
        example: a value to show; the default when "".
    """

    key: str
    kind: Kind
    default: str
    help: str
    twin: str = ""
    minimum: float | None = None
    maximum: float | None = None
    open_bounds: bool = False
    choices: tuple[str, ...] = ()
    option: str = ""
    example: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The environment variables that set it, the first that is set decides."""
        own = "REFLEXIOND_" + self.key.upper().replace(".", "_")
        return (own, self.twin) if self.twin else (own,)

    @property
    def flag(self) -> str:
        """How the command line gives it."""
        return self.option or f"--set {self.key}"

    def parse(self, text: str) -> Value:
        """Read a value.

        Raises:
            ValueError: it has not the accepted form, or is out of bounds.
        """
        text = trim_space(text)
        if text == self.default == "":
            return "" if self.kind in ("text", "path") else None
        value = _PARSERS[self.kind](text)
        if not self._fits(value):
            raise ValueError(text)
        return value

    def shown(self, value: Value) -> str:
        """Write a value in the form that `parse` reads."""
        match value:
            case None:
                return ""
            case bool():
                return "true" if value else "false"
            case int() if self.kind == "duration":
                return format_duration(value)
            case _:
                return str(value)

    @property
    def form(self) -> str:
        """The accepted form in words, with an example."""
        words = " or ".join(self.choices)
        if self.kind == "path":
            form = f"{words} or a folder" if words else "a path"
        else:
            form = words or _FORMS[self.kind]
        return f"{form}{self._bounds()}, such as {self.example or self.default}"

    def _fits(self, value: Value) -> bool:
        if isinstance(value, str):
            listed = not self.choices or self.kind == "path" or value in self.choices
            return listed and bool(value) and "\0" not in value
        low = -float("inf") if self.minimum is None else self.minimum
        high = float("inf") if self.maximum is None else self.maximum
        if self.open_bounds:
            return low < _number(value) < high
        return low <= _number(value) <= high

    def _bounds(self) -> str:
        bounds = [
            f"{word} {format_duration(int(bound)) if self.kind == 'duration' else f'{bound:g}'}"
            for word, bound in zip(self._bound_words, (self.minimum, self.maximum), strict=True)
            if bound is not None
        ]
        return f" {' and '.join(bounds)}" if bounds else ""

    @property
    def _bound_words(self) -> tuple[str, str]:
        return ("above", "below") if self.open_bounds else ("of at least", "at most")


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a setting is, and where that was said: an option, a variable, the file, "default"."""

    value: Value
    origin: str


_FORMS: Mapping[Kind, str] = {
    "bool": "true or false (also yes, no, on, off, 1, 0)",
    "int": "a whole number",
    "float": "a number",
    "duration": "a duration with its unit (h, m, s, ms, us or ns)",
    "text": "a text",
}
_PARSERS: Mapping[Kind, Callable[[str], Value]] = {
    "bool": parse_bool,
    "int": parse_int,
    "float": parse_float,
    "duration": parse_duration_ns,
    "text": lower,
    "path": str,
}
