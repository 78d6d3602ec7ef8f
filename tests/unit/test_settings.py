"""Settings: forms, bounds, precedence, and the variables shared with ChatCLI."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion_client._gotext import parse_float
from reflexion_client.config import (
    CLIENT_SETTINGS,
    Setting,
    client_settings,
    format_duration,
    parse_duration_ns,
    resolve,
)
from reflexion_client.errors import ConfigError
from reflexion_client.wire import MAX_FRAME_BYTES
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.settings import SETTINGS, Settings, describe, load

FIXTURE = Path(__file__).parent.parent / "fixtures/lessonq/env.jsonl"
LINES = [json.loads(line) for line in FIXTURE.read_text().split("\n") if line]
UNSET = LINES[0]
PREFIX = "CHATCLI_QUALITY_REFLEXION_"
BY_KEY = {setting.key: setting for setting in SETTINGS}

GATES = {
    "Enabled": "enabled",
    "OnError": "on_error",
    "OnHallucination": "on_hallucination",
    "OnLowQuality": "on_low_quality",
    "Persist": "persist",
}
QUEUE = {
    "Workers": "workers",
    "Capacity": "capacity",
    "OverflowDropOldest": "drop_oldest",
    "EnqueueBlockTimeout": "block_timeout_ns",
    "MaxAttempts": "max_attempts",
    "InitialDelay": "initial_delay_ns",
    "MaxDelay": "max_delay_ns",
    "JitterFraction": "jitter",
    "PerJobTimeout": "job_timeout_ns",
    "StaleAfter": "stale_after_ns",
}
TWINS = {
    *("ENABLED", "ON_ERROR", "ON_HALLUCINATION", "ON_LOW_QUALITY", "PERSIST"),
    *("QUEUE_ENABLED", "QUEUE_WORKERS", "QUEUE_CAPACITY", "QUEUE_DROP_OLDEST"),
    *("QUEUE_BLOCK_TIMEOUT", "QUEUE_MAX_ATTEMPTS", "QUEUE_INITIAL_DELAY", "QUEUE_MAX_DELAY"),
    *("QUEUE_JITTER", "QUEUE_JOB_TIMEOUT", "QUEUE_STALE_AFTER", "QUEUE_BASE_DIR"),
}


def settings_with(file: Path | None = None, **env: str) -> Settings:
    """Return the settings under an environment that holds nothing else."""
    return load(env={"HOME": "/h", **env}, file=file)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return where a test may write a config.toml."""
    return tmp_path / "config.toml"


# --- the variables shared with ChatCLI


def effective(line: dict[str, Any]) -> dict[str, Any]:
    """Return the reference's queue settings as they work in the end, by our names."""
    runner, retry = line["runner"], line["runner"]["Retry"]
    return {
        "workers": runner["Workers"],
        "capacity": runner["QueueCapacity"],
        "drop_oldest": runner["DropOldest"],
        "block_timeout_ns": runner["EnqueueBlockTimeout"],
        "max_attempts": retry["max_attempts"],
        "initial_delay_ns": retry["initial_delay_ns"],
        "max_delay_ns": retry["max_delay_ns"],
        "jitter": retry["jitter_fraction"],
        "job_timeout_ns": runner["PerJobTimeout"],
        "stale_after_ns": runner["StaleAfter"],
    }


def reference(line: dict[str, Any]) -> dict[str, Any]:
    """Return all of the reference's settings, by our names."""
    gates = {ours: line["reflexion"][theirs] for theirs, ours in GATES.items()}
    return {**gates, "queue_enabled": line["reflexion"]["Queue"]["Enabled"], **effective(line)}


def ignored(line: dict[str, Any]) -> bool:
    """Return whether the reference took nothing from this environment but a folder."""
    return reference({**line, "runner": UNSET["runner"]}) == reference(UNSET) and (
        read(line) == read(UNSET)
    )


def bent(line: dict[str, Any]) -> bool:
    """Return whether the reference works with another value than the one it read."""
    return read(line) != effective(line)


def read(line: dict[str, Any]) -> dict[str, Any]:
    """Return the reference's queue settings before it bends them, by our names."""
    return {ours: line["reflexion"]["Queue"][theirs] for theirs, ours in QUEUE.items()}


def beyond(line: dict[str, Any]) -> bool:
    """Return whether the reference takes a value that no daemon can work with."""
    queue = line["reflexion"]["Queue"]
    return queue["Workers"] > BY_KEY["queue.workers"].maximum or queue["JitterFraction"] == "NaN"


@pytest.mark.parametrize("line", LINES, ids=[ascii(line["name"]) for line in LINES])
def test_a_variable_means_what_it_means_to_the_reference_or_is_refused(
    line: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We agree, or the reference ignored or bent the value and we name it and its variable."""
    monkeypatch.chdir(tmp_path)
    found = taken(line)
    if isinstance(found, ConfigError):
        assert ignored(line) or bent(line) or beyond(line)
        assert any(
            name in str(found) and (repr(value) in str(found) or "shorter" in str(found))
            for name, value in line["env"].items()
        )
        return
    assert reference(line) == {name: getattr(found, name) for name in reference(line)}
    folder = line["reflexion"]["Queue"]["BaseDir"].replace("~", "/h", 1)
    expected = tmp_path / folder if folder else Path("/h/.local/state/reflexiond")
    assert expected == found.state_dir


def taken(line: dict[str, Any]) -> Settings | ConfigError:
    """Return our settings in a line's environment, or why we refuse it."""
    try:
        return load(env={"HOME": "/h", **line["env"]})
    except ConfigError as error:
        return error


@pytest.mark.parametrize("line", LINES, ids=[ascii(line["name"]) for line in LINES])
def test_our_own_variable_reads_the_same_forms(line: dict[str, Any]) -> None:
    """The REFLEXIOND_ name of a setting accepts and refuses what its ChatCLI name does."""
    for setting in SETTINGS:
        own, *twins = setting.names
        for name in twins:
            if name in line["env"]:
                assert outcome(setting, name, line["env"][name]) == outcome(
                    setting, own, line["env"][name]
                )


def outcome(setting: Setting, name: str, text: str) -> object:
    try:
        return resolve([setting], overrides={}, env={name: text}, file=None)[setting.key].value
    except ConfigError as error:
        return str(error).replace(name, "NAME")


def test_what_the_reference_silently_bends_is_refused() -> None:
    """Zero or negative sizes and times, a jitter out of range, a cap below the first delay."""
    refused: dict[str, list[str]] = {}
    for line in LINES:
        single = len(line["env"]) == 1 and (bent(line) or beyond(line))
        if single and isinstance(taken(line), ConfigError):
            [(name, value)] = line["env"].items()
            refused.setdefault(name.removeprefix(PREFIX), []).append(value)
    assert {
        "QUEUE_WORKERS": ["0", "-1", "9223372036854775807", "-0"],
        "QUEUE_CAPACITY": ["0", "-5"],
        "QUEUE_MAX_ATTEMPTS": ["0", "-2"],
        "QUEUE_BLOCK_TIMEOUT": [
            *("0", "0s", "-1s", "-9223372036854775808ns", "0.0000000001s", "-0", "0.1ns"),
        ],
        "QUEUE_INITIAL_DELAY": ["0", "-3s"],
        "QUEUE_MAX_DELAY": ["0", "-3s", "1ms"],
        "QUEUE_JITTER": [
            *("1", "0.50001", "-0.1", "NaN", "nan", "Inf", "-inf", "+Infinity", "1_0.5", "1."),
        ],
        "QUEUE_JOB_TIMEOUT": ["0", "-1m"],
        "QUEUE_STALE_AFTER": ["-1h"],
    } == refused


def test_every_variable_of_chatcli_has_a_setting() -> None:
    """All seventeen are honoured, each with a name of our own before it."""
    twins = [setting.names[1] for setting in SETTINGS if len(setting.names) > 1]
    assert sorted(PREFIX + name for name in TWINS) == sorted(twins)
    assert all(setting.names[0].startswith("REFLEXIOND_") for setting in SETTINGS)


# --- precedence


SOURCES = ("override", "own", "twin", "file")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_the_first_source_that_has_a_setting_decides(setting: Setting, config: Path) -> None:
    """Command line, REFLEXIOND_, CHATCLI_, file, default: for every setting, in all mixtures."""
    text = setting.example or setting.default
    expected = {
        "override": setting.option or f"--set {setting.key}",
        "own": setting.names[0],
        "twin": setting.names[-1],
        "file": "config.toml",
    }
    sources = SOURCES if len(setting.names) > 1 else [name for name in SOURCES if name != "twin"]
    for given_here in itertools.product((True, False), repeat=len(sources)):
        present = list(itertools.compress(sources, given_here))
        config.write_text(f"{setting.key} = {text!r}\n" if "file" in present else "")
        found = load(
            overrides={setting.key: text} if "override" in present else {},
            env={"HOME": "/h"} | {expected[n]: text for n in ("own", "twin") if n in present},
            file=config,
        )
        origin = expected[present[0]] if present else "default"
        assert origin == found.resolved[setting.key].origin


def test_the_deciding_source_gives_the_value(config: Path) -> None:
    """What the lower sources say has no effect."""
    config.write_text("[queue]\nworkers = 3\n")
    own, twin = BY_KEY["queue.workers"].names
    assert 2 == settings_with().workers
    assert 3 == settings_with(config).workers
    assert 4 == settings_with(config, **{twin: "4"}).workers
    assert 5 == settings_with(config, **{twin: "4", own: "5"}).workers
    env = {"HOME": "/h", twin: "4", own: "5"}
    assert 6 == load(overrides={"queue.workers": "6"}, env=env, file=config).workers


def test_a_blank_variable_counts_as_unset(config: Path) -> None:
    """An empty variable does not hide the next source."""
    config.write_text("[queue]\nworkers = 3\n")
    assert 3 == settings_with(config, REFLEXIOND_QUEUE_WORKERS="").workers
    assert 3 == settings_with(config, REFLEXIOND_QUEUE_WORKERS=" \t").workers


def test_an_empty_option_takes_an_optional_setting_back() -> None:
    """On the command line, empty means none, and is refused where there must be a value."""
    env = {"HOME": "/h", "REFLEXIOND_RECALL_FLOOR": "0.4", "REFLEXIOND_SOCKET": "/s"}
    assert 0.4 == load(env=env).recall_floor
    found = load(overrides={"recall.floor": "", "socket": ""}, env=env)
    assert (None, "") == (found.recall_floor, found.socket)
    with pytest.raises(ConfigError, match=r"--set queue\.workers = ''"):
        load(overrides={"queue.workers": ""}, env=env)


# --- errors


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("QUEUE_WORKERS", "many", "expected a whole number, from 1 to 1024, such as 2"),
        ("QUEUE_WORKERS", "1e3", "expected a whole number"),
        ("QUEUE_WORKERS", "1025", "from 1 to 1024"),
        ("QUEUE_CAPACITY", "0", "expected a whole number, at least 1, such as 1000"),
        ("QUEUE_BLOCK_TIMEOUT", "5", "a duration with its units (h, m, s, ms, us or ns)"),
        ("QUEUE_BLOCK_TIMEOUT", "0", "at least 1ns, such as 5s"),
        ("QUEUE_JITTER", "0.9", "expected a number, from 0 to 0.5, such as 0.2"),
        ("QUEUE_JITTER", "NaN", "from 0 to 0.5"),
        ("PERSIST", "maybe", "expected true or false"),
        ("LOG_LEVEL", "loud", "expected debug, info, warning or error, such as info"),
        ("RECALL_FLOOR", "0", "expected a number, above 0 and below 2, such as 0.5"),
        ("RECALL_FLOOR", "2", "above 0 and below 2"),
        ("SOCKET", "a\0b", "expected a path, such as /run/user"),
    ],
)
def test_a_bad_value_names_the_variable_the_value_and_the_form(
    name: str, value: str, said: str
) -> None:
    """The message alone is enough to mend it."""
    with pytest.raises(ConfigError) as caught:
        settings_with(**{f"REFLEXIOND_{name}": value})
    assert str(caught.value).startswith(f"REFLEXIOND_{name} = {value!r}: expected ")
    assert said in str(caught.value)


def test_a_long_bad_value_is_cut() -> None:
    """An error message stays readable whatever the value."""
    with pytest.raises(ConfigError) as caught:
        settings_with(REFLEXIOND_QUEUE_WORKERS="x" * 10_000)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "text",
    [
        "queue.block_timeout = 5",
        "queue.workers = true",
        "queue.workers = [1]",
        "queue.workers = 1.5",
        "queue.jitter = nan",
        "queue.stale_after = 1979-05-27",
        "socket = 5",
        "persist = 'maybe'",
        "log.level = 1",
    ],
)
def test_a_bad_value_in_the_file_names_key_and_file(text: str, config: Path) -> None:
    """Numbers without a unit are no durations, and other types are not guessed at."""
    config.write_text(text)
    key = text.partition(" ")[0]
    with pytest.raises(ConfigError) as caught:
        settings_with(config)
    assert str(caught.value).startswith(f"{key} in {config} = ")
    assert "such as" in str(caught.value)


def test_an_unknown_key_is_refused_with_the_nearest_name(config: Path) -> None:
    """A slip in the file or on the command line does not silently do nothing."""
    config.write_text("[queue]\nworker = 3\n")
    with pytest.raises(ConfigError, match=r"'queue\.worker' .*; did you mean queue\.workers\?"):
        settings_with(config)
    with pytest.raises(ConfigError, match=r"'floor' in the command line; .* recall\.floor\?"):
        load(overrides={"floor": "1"}, env={"HOME": "/h"})
    with pytest.raises(ConfigError, match=r"unknown setting '%%%' in the command line$"):
        load(overrides={"%%%": "1"}, env={"HOME": "/h"})


def test_a_value_where_a_table_belongs_is_refused(config: Path) -> None:
    """`queue = 5` is an unknown setting like any other, and so is a table below a setting."""
    config.write_text("queue = 5\n")
    with pytest.raises(ConfigError, match="unknown setting 'queue'"):
        settings_with(config)
    config.write_text("[queue.workers]\nnumber = 5\n")
    with pytest.raises(ConfigError, match=r"queue\.workers\.number'.*did you mean queue\.workers"):
        settings_with(config)


@pytest.mark.parametrize("content", [b"queue = [", b"a = 1\na = 2", b"socket = '\xff'"])
def test_a_broken_file_is_named(content: bytes, config: Path) -> None:
    """What is no TOML is refused with the file's path."""
    config.write_bytes(content)
    with pytest.raises(ConfigError, match=f"the settings file {config} is not "):
        settings_with(config)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A folder in the file's place is an error, not an empty file."""
    with pytest.raises(ConfigError, match=f"settings file {tmp_path} cannot be read: Is a dir"):
        settings_with(tmp_path)


def test_a_file_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    """The usual file may be missing, one named by REFLEXIOND_CONFIG may not."""
    missing = str(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match=r"no\.toml does not exist \(REFLEXIOND_CONFIG"):
        settings_with(REFLEXIOND_CONFIG=missing)
    assert Path("/h/.config/reflexiond/config.toml") == settings_with().file
    assert Path("/c/reflexiond/config.toml") == settings_with(XDG_CONFIG_HOME="/c").file


def test_the_longest_delay_is_not_below_the_first() -> None:
    """The default cap rises to a longer first delay; a cap that was given is refused."""
    found = settings_with(REFLEXIOND_QUEUE_INITIAL_DELAY="10m")
    assert (600 * 10**9,) * 2 == (found.initial_delay_ns, found.max_delay_ns)
    assert "10m" == described(found)["queue.max_delay"]["value"]
    with pytest.raises(ConfigError, match=r"REFLEXIOND_QUEUE_MAX_DELAY\) is shorter than"):
        settings_with(REFLEXIOND_QUEUE_MAX_DELAY="10ms")


# --- the file and paths


def test_the_file_takes_the_types_of_toml(config: Path) -> None:
    """Numbers and switches are written bare, durations and words in quotes."""
    config.write_text(
        "persist = false\nrecall.floor = 0.25\n"
        "[queue]\nworkers = 7\njitter = 0\njob_timeout = '1m30s'\nstale_after = 0\n"
        "[log]\nlevel = 'WARNING'\n"
    )
    found = settings_with(config)
    assert (False, 0.25) == (found.persist, found.recall_floor)
    assert (7, 0.0, 90 * 10**9, 0) == (
        found.workers,
        found.jitter,
        found.job_timeout_ns,
        found.stale_after_ns,
    )
    assert "warning" == found.log_level


def test_paths_become_absolute(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path counts from the working folder, in the file from the file's own."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    config.write_text("state_dir = 'state'\nembed.model = '~/model'\n")
    found = settings_with(config)
    assert (tmp_path / "state", "/h/model") == (found.state_dir, found.embed_model)
    found = settings_with(REFLEXIOND_STATE_DIR="state", REFLEXIOND_SOCKET="~/s", HOME="/home/x")
    assert (elsewhere / "state", "/home/x/s") == (found.state_dir, found.socket)
    assert str(elsewhere / "state") == described(found)["state_dir"]["value"]


def test_the_words_of_the_model_are_no_paths() -> None:
    """`builtin` and `off` stay what they are."""
    assert "builtin" == settings_with().embed_model
    assert "off" == settings_with(REFLEXIOND_EMBED_MODEL="off").embed_model


def test_the_state_folder_follows_xdg() -> None:
    """XDG_STATE_HOME counts when it is absolute; a setting of ours comes before it."""
    assert Path("/h/.local/state/reflexiond") == settings_with().state_dir
    assert Path("/s/reflexiond") == settings_with(XDG_STATE_HOME="/s").state_dir
    assert Path("/h/.local/state/reflexiond") == settings_with(XDG_STATE_HOME="s").state_dir
    assert Path("/b") == settings_with(XDG_STATE_HOME="/s", REFLEXIOND_STATE_DIR="/b").state_dir


# --- the client's view


def test_a_client_reads_its_own_settings_from_the_shared_file(config: Path) -> None:
    """The daemon's keys do not concern it, right or wrong."""
    config.write_text("on_error = false\nenqueue_deadline = '5ms'\n[queue]\nworkers = 'x'\n")
    found = client_settings(overrides={}, env={"HOME": "/h", "REFLEXIOND_CONFIG": str(config)})
    assert (True, False) == (found.enabled, found.on_error)
    assert 5_000_000 == found.enqueue_deadline_ns
    assert Path("/h/.local/state/reflexiond") == found.state_dir


def test_client_and_daemon_agree() -> None:
    """Both sides find the same values for what they share."""
    env = {
        "HOME": "/h",
        "REFLEXIOND_STATE_DIR": "/st",
        "REFLEXIOND_AUTOSTART": "1",
        f"{PREFIX}ON_LOW_QUALITY": "yes",
    }
    client, daemon = client_settings(overrides={}, env=env), load(env=env)
    assert [True, True] == [client.autostart, client.on_low_quality]
    for setting in CLIENT_SETTINGS:
        name = f"{setting.key}_ns" if setting.kind == "duration" else setting.key
        assert getattr(client, name) == getattr(daemon, name)


def test_looking_up_settings_imports_little() -> None:
    """A tool that imports the client pays for no event loop, no TOML parser, no difflib."""
    code = (
        "import sys; from reflexion_client import config; "
        "config.client_settings(overrides={}, env={'HOME': '/nowhere'}); "
        "print(sorted({'asyncio', 'tomllib', 'difflib', 'json'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


# --- the table


def described(found: Settings) -> dict[str, Any]:
    return {row["key"]: row for row in describe(found)["settings"]}


def test_a_description_reads_back_to_the_same_settings() -> None:
    """Given as options, the values as shown lead to the very same settings."""
    found = settings_with(REFLEXIOND_QUEUE_STALE_AFTER="90m", REFLEXIOND_RECALL_FLOOR="0.5")
    rows = described(found)
    assert [setting.key for setting in SETTINGS] == list(rows)
    again = load(overrides={key: row["value"] for key, row in rows.items()}, env={"HOME": "/h"})
    assert rows == {
        key: {**row, "origin": rows[key]["origin"]} for key, row in described(again).items()
    }


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_setting_is_complete(setting: Setting) -> None:
    """Its default and its example are values that it accepts; its help is one sentence."""
    assert setting.default == setting.write(setting.parse(setting.default))
    assert setting.parse(setting.example or setting.default) not in (None, "")
    assert setting.help.endswith(".")
    assert "\n" not in setting.help


def test_the_defaults_belong_together() -> None:
    """What two places must know is the same in both."""
    found, policy = settings_with(), RetryPolicy()
    assert MAX_FRAME_BYTES == found.max_frame_bytes
    assert policy == RetryPolicy(
        found.initial_delay_ns,
        found.max_delay_ns,
        jitter_fraction=found.jitter,
        max_attempts=found.max_attempts,
    )


# --- the written forms


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_duration_reads_back(ns: int) -> None:
    """Formatting and parsing are inverse over the whole range."""
    assert ns == parse_duration_ns(format_duration(ns))


@pytest.mark.parametrize(
    ("text", "ns"),
    [("168h", 604_800 * 10**9), ("1m30s", 90 * 10**9), ("1.5us", 1_500), ("1h0.5s", 36005 * 10**8)],
)
def test_a_duration_is_written_without_parts_of_zero(text: str, ns: int) -> None:
    """As a person would write it."""
    assert text == format_duration(ns)


PIECES = st.sampled_from(
    ["1", "07", ".", "5", "-", "+", "h", "m", "s", "ms", "\xb5s", " ", "_", "d"]
)


@given(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=8))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    """Nothing else comes out of the parser, and what it reads can be written again."""
    try:
        ns = parse_duration_ns(text)
    except ValueError:
        return
    assert ns == parse_duration_ns(format_duration(ns))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_in_both_notations(number: float) -> None:
    """Decimal and hexadecimal texts give the number they were made of."""
    assert number == parse_float(repr(number))
    assert number == parse_float(number.hex())


@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "0x1p1024", "+nan", "1__0", "_1", "0x_", "1e_5"]
)
def test_what_is_no_float_is_refused(text: str) -> None:
    """Numbers too large to hold, a signed NaN and misplaced underscores."""
    with pytest.raises(ValueError, match=re.escape(text)):
        parse_float(text)


@given(st.text("0123456789abcefinptxINFX_+-. ", max_size=10))
def test_any_text_is_a_float_or_a_value_error(text: str) -> None:
    """Nothing else comes out of the parser; an overflow is an error, not infinity."""
    try:
        number = parse_float(text)
    except ValueError:
        return
    assert "inf" in text.lower() or not math.isinf(number)
