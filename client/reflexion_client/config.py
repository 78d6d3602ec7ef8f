"""The one place where settings are looked up, and the settings that a client has.

A setting is given on the command line, in the environment (`REFLEXIOND_...`, then its
ChatCLI name), or in `config.toml`; the first of these that has it decides, else its
default. A value that cannot be used is an error, never ignored. Values are written in
Go's form: `1m30s`, `true`, `0.2`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

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

Kind = Literal["bool", "int", "float", "duration", "word", "path"]
Value: TypeAlias = bool | int | float | str | None

_TWIN_PREFIX = "CHATCLI_QUALITY_REFLEXION_"
_QUOTED_CHARS = 80
"""How much of a refused value an error message quotes."""
_LIKENESS = 0.4
"""How like a valid name an unknown one must be for that to be offered."""

_PARSERS: Mapping[Kind, Callable[[str], Value]] = {
    "bool": parse_bool,
    "int": parse_int,
    "float": parse_float,
    "duration": parse_duration_ns,
    "word": lower,
    "path": str,
}
_NOUNS: Mapping[Kind, str] = {
    "int": "a whole number",
    "float": "a number",
    "duration": "a duration with its units (h, m, s, ms, us or ns)",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its names, its form, its default and its bounds.

    Args:
        key: its name in `config.toml`, tables joined by dots.
        kind: how its text is read. A duration becomes nanoseconds, a path absolute.
        default: the value when nothing is set, as it is written; "" for none.
        help: what it means, in one line.
        twin: ChatCLI's variable for it, without the common prefix; "" if it has none.
        minimum: the least number, nanoseconds for a duration.
        maximum: the greatest number.
        open_bounds: whether the bounds themselves are refused.
        choices: the words accepted; a path may also be any other text.
        option: its own option on the command line; the others are given with `--set`.
        example: a value to show in messages; the default when "".
    """

    key: str
    kind: Kind
    default: str
    help: str
    twin: str = ""
    minimum: float = 0
    maximum: float = INT64_MAX
    open_bounds: bool = False
    choices: tuple[str, ...] = ()
    option: str = ""
    example: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The environment variables that set it; the first one that is set decides."""
        own = "REFLEXIOND_" + self.key.upper().replace(".", "_")
        return (own, _TWIN_PREFIX + self.twin) if self.twin else (own,)

    @property
    def form(self) -> str:
        """The accepted form in words, with an example."""
        match self.kind:
            case "bool":
                form = "true or false (yes, no, on, off, 1 and 0 do as well)"
            case "word":
                form = f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
            case "path":
                form = " or ".join((*self.choices, "a path"))
            case _:
                form = f"{_NOUNS[self.kind]}, {self._bounds()}"
        return f"{form}, such as {self.example or self.default}"

    def parse(self, text: str) -> Value:
        """Read a value.

        Raises:
            ValueError: it has not the accepted form, or is out of bounds.
        """
        text = trim_space(text)
        if not text and not self.default:
            return "" if self.kind == "path" else None
        value = _PARSERS[self.kind](text)
        if not self._accepts(value):
            raise ValueError(text)
        return value

    def write(self, value: Value) -> str:
        """Write a value in the form that `parse` reads."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return format_duration(int(value)) if self.kind == "duration" else str(value)

    def _accepts(self, value: Value) -> bool:
        match value:
            case bool() | None:
                return True
            case str() if self.kind == "word":
                return value in self.choices
            case str():
                return value != "" and "\0" not in value
            case _ if self.open_bounds:
                return self.minimum < value < self.maximum
            case _:
                return self.minimum <= value <= self.maximum

    def _bounds(self) -> str:
        low = self.write(self.minimum)
        if self.open_bounds:
            return f"above {low} and below {self.write(self.maximum)}"
        if self.maximum == INT64_MAX:
            return f"at least {low}"
        return f"from {low} to {self.write(self.maximum)}"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A setting's value and where it was given: an option, a variable, the file, "default"."""

    value: Value
    origin: str


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a client needs to know: its gates, and where its daemon is."""

    enabled: bool
    on_error: bool
    on_hallucination: bool
    on_low_quality: bool
    state_dir: Path
    socket: str
    autostart: bool
    enqueue_deadline_ns: int


CLIENT_SETTINGS: tuple[Setting, ...] = (
    Setting("enabled", "bool", "true", "Whether failures are reported at all.", "ENABLED"),
    Setting("on_error", "bool", "true", "Report a turn that ended in an error.", "ON_ERROR"),
    Setting(
        "on_hallucination",
        "bool",
        "true",
        "Report a turn whose claims a verifier found wrong.",
        "ON_HALLUCINATION",
    ),
    Setting(
        "on_low_quality",
        "bool",
        "false",
        "Report a turn that a judge found poor.",
        "ON_LOW_QUALITY",
    ),
    Setting(
        "state_dir",
        "path",
        "",
        "The folder of the database; when empty, reflexiond below XDG_STATE_HOME.",
        "QUEUE_BASE_DIR",
        option="--state-dir",
        example="~/.local/state/reflexiond",
    ),
    Setting(
        "socket",
        "path",
        "",
        "The socket to use; when empty, the one that the daemon announces.",
        option="--socket",
        example="/run/user/1000/reflexiond/reflexiond.sock",
    ),
    Setting("autostart", "bool", "false", "Whether a client starts a daemon when none answers."),
    Setting(
        "enqueue_deadline",
        "duration",
        "20ms",
        "The longest that a hook holds up a turn; the report goes on after it.",
    ),
)


def resolve(
    settings: Sequence[Setting],
    *,
    overrides: Mapping[str, str],
    env: Mapping[str, str],
    file: Path | None,
    foreign_keys: bool = False,
) -> dict[str, Resolved]:
    """Find every setting's value and origin, by key.

    A blank variable counts as unset.

    Args:
        settings: the settings to look up.
        overrides: values given on the command line, by key.
        env: the environment.
        file: the `config.toml`; one that does not exist is an empty one.
        foreign_keys: whether the file may hold keys that are not in `settings`.

    Raises:
        ConfigError: a value is refused, a key is unknown, or the file cannot be read.
    """
    keys = [setting.key for setting in settings]
    stored = {} if file is None else read_file(file)
    _refuse_unknown(overrides, keys, "the command line")
    if not foreign_keys:
        _refuse_unknown(stored, keys, str(file))
    return {
        setting.key: _resolve(setting, overrides=overrides, env=env, file=file, stored=stored)
        for setting in settings
    }


def client_settings(*, overrides: Mapping[str, str], env: Mapping[str, str]) -> ClientSettings:
    """Return the settings of a client. The daemon's keys in the file do not concern it.

    Raises:
        ConfigError: a value is refused, or the file cannot be read.
    """
    found = resolve(
        CLIENT_SETTINGS,
        overrides=overrides,
        env=env,
        file=config_file(env),
        foreign_keys=True,
    )
    values: dict[str, Any] = {key: resolved.value for key, resolved in found.items()}
    values["enqueue_deadline_ns"] = values.pop("enqueue_deadline")
    return ClientSettings(**{**values, "state_dir": state_dir(values["state_dir"], env)})


def config_file(env: Mapping[str, str]) -> Path:
    """Return where `config.toml` is looked for; it need not exist unless it was asked for.

    Raises:
        ConfigError: REFLEXIOND_CONFIG names a file that does not exist.
    """
    named = env.get("REFLEXIOND_CONFIG", "")
    if not named:
        return _base(env, "XDG_CONFIG_HOME", ".config") / "reflexiond" / "config.toml"
    path = Path(_expand(named, env, Path.cwd))
    if not os.access(path, os.F_OK):
        raise ConfigError(f"the settings file {path} does not exist (REFLEXIOND_CONFIG, --config)")
    return path


def state_dir(given: str, env: Mapping[str, str]) -> Path:
    """Return the state folder: the one that the setting gives, else the default one."""
    return Path(given) if given else default_state_dir(env)


def default_state_dir(env: Mapping[str, str]) -> Path:
    """Return the state folder of a daemon that was told of none."""
    return _base(env, "XDG_STATE_HOME", ".local/state") / "reflexiond"


def read_file(file: Path) -> dict[str, Any]:
    """Read a `config.toml`; return its values by dotted key, {} when there is no such file.

    Raises:
        ConfigError: it cannot be read, or is not TOML.
    """
    try:
        text = file.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"the settings file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the settings file {file} is not UTF-8: {error}") from error
    import tomllib  # noqa: PLC0415 - most processes have no such file

    try:
        return dict(_flatten(tomllib.loads(text), ""))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the settings file {file} is not valid TOML: {error}") from error


def _resolve(
    setting: Setting,
    *,
    overrides: Mapping[str, str],
    env: Mapping[str, str],
    file: Path | None,
    stored: Mapping[str, Any],
) -> Resolved:
    key = setting.key
    if key in overrides:
        option = setting.option or f"--set {key}"
        return _read(setting, overrides[key], option, option, env, Path.cwd)
    for name in setting.names:
        if trim_space(env.get(name, "")):
            return _read(setting, env[name], name, name, env, Path.cwd)
    if file is not None and key in stored:
        folder = file.absolute().parent
        return _read(setting, stored[key], file.name, f"{key} in {file}", env, lambda: folder)
    return Resolved(setting.parse(setting.default), "default")


def _read(
    setting: Setting,
    given: object,
    origin: str,
    place: str,
    env: Mapping[str, str],
    base: Callable[[], Path],
) -> Resolved:
    try:
        value = setting.parse(_text(setting, given))
    except ValueError:
        raise ConfigError(f"{place} = {_quote(given)}: expected {setting.form}") from None
    if setting.kind == "path" and value and value not in setting.choices:
        value = _expand(str(value), env, base)
    return Resolved(value, origin)


def _text(setting: Setting, given: object) -> str:
    """Write a TOML value as the text that stands for it everywhere else."""
    match given:
        case str():
            return given
        case bool():
            return "true" if given else "false"
        case int() | float() if setting.kind in _NOUNS:
            return str(given)
        case _:
            raise ValueError(given)


def _quote(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _QUOTED_CHARS else f"{text[:_QUOTED_CHARS]}…"


def _refuse_unknown(given: Iterable[str], keys: list[str], place: str) -> None:
    for key in given:
        if key not in keys:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this message

            near = get_close_matches(key, keys, 1, cutoff=_LIKENESS)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"unknown setting {_quote(key)} in {place}{hint}")


def _flatten(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _expand(path: str, env: Mapping[str, str], base: Callable[[], Path]) -> str:
    if path == "~" or path.startswith("~/"):
        return str(_home(env)) + path[1:]
    return path if path.startswith("/") else str(base() / path)


def _base(env: Mapping[str, str], variable: str, below_home: str) -> Path:
    # The XDG specification wants relative values ignored.
    given = env.get(variable, "")
    return Path(given) if given.startswith("/") else _home(env) / below_home


def _home(env: Mapping[str, str]) -> Path:
    given = env.get("HOME", "")
    return Path(given) if given.startswith("/") else Path.home()
