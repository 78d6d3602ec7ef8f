"""Settings: forms, precedence, and the variables shared with ChatCLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion_client.config import (
    client_settings,
    format_duration,
    parse_duration_ns,
)
from reflexion_client.errors import ConfigError
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.settings import SETTINGS, Settings, describe, load

FIXTURE = Path(__file__).parent.parent / "fixtures/lessonq/env.jsonl"
LINES = [json.loads(line) for line in FIXTURE.read_text().split("\n") if line]
UNSET = LINES[0]

# What the reference replaces by its default without a word, and we refuse.
_GATES = {
    "Enabled": "enabled",
    "OnError": "on_error",
    "OnHallucination": "on_hallucination",
    "OnLowQuality": "on_low_quality",
}


def ours(env: dict[str, str]) -> dict[str, Any]:
    """Return our settings in the reference's terms."""
    found = load(env=env)
    client = client_settings(overrides={}, env=env)
    policy = RetryPolicy(
        found.initial_delay_ns,
        found.max_delay_ns,
        jitter_fraction=found.jitter,
        max_attempts=found.max_attempts,
    ).normalized()
    return {
        **{theirs: getattr(client, name) for theirs, name in _GATES.items()},
        "Persist": found.persist,
        "QueueEnabled": found.queue_enabled,
        "Workers": found.workers,
        "QueueCapacity": found.capacity,
        "DropOldest": found.drop_oldest,
        "EnqueueBlockTimeout": found.block_timeout_ns,
        "PerJobTimeout": found.job_timeout_ns,
        "StaleAfter": found.stale_after_ns,
        "Retry": {
            "initial_delay_ns": policy.initial_delay_ns,
            "max_delay_ns": policy.max_delay_ns,
            "multiplier": policy.multiplier,
            "jitter_fraction": policy.jitter_fraction,
            "max_attempts": policy.max_attempts,
        },
    }


def theirs(line: dict[str, Any]) -> dict[str, Any]:
    """Return the reference's settings in the same terms."""
    reflexion = line["reflexion"]
    return {
        **{name: reflexion[name] for name in (*_GATES, "Persist")},
        "QueueEnabled": reflexion["Queue"]["Enabled"],
        **line["runner"],
    }


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["name"].encode("ascii", "replace"))
def test_a_variable_means_what_it_means_to_the_reference_or_is_refused(
    line: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing is silently ignored: either we agree, or we name the variable and the value."""
    env = {"HOME": str(tmp_path), **line["env"]}
    try:
        found = ours(env)
    except ConfigError as error:
        named = [name for name in line["env"] if name in str(error)]
        assert named
        [name] = named[:1]
        assert repr(line["env"][name]) in str(error) or "at least" in str(error)
        assert "expected" in str(error) or "must be" in str(error)
    else:
        assert theirs(line) == found


def test_most_values_of_the_reference_are_taken() -> None:
    """Refusing is for what the reference ignores or bends, not for what it accepts."""
    refused = {}
    for line in LINES:
        try:
            load(env={"HOME": "/nowhere", **line["env"]})
        except ConfigError:
            refused[line["name"]] = theirs(line) != theirs(UNSET)
    # Only values that it bends: jitter is clamped to 0..0.5 and NaN taken for none, a longest
    # delay below the first is raised to it, a negative age means never.
    bent = sorted(name for name, changed in refused.items() if changed)
    assert all("JITTER" in name or "MAX_DELAY=1ms" in name or "STALE_AFTER=-1h" in name for name in bent), bent


@pytest.mark.parametrize(
    ("overrides", "env", "file", "value", "origin"),
    [
        ({}, {}, "", 2, "default"),
        ({}, {}, "[queue]\nworkers = 3\n", 3, "config.toml"),
        ({}, {"CHATCLI_QUALITY_REFLEXION_QUEUE_WORKERS": "4"}, "queue.workers = 3\n", 4, "CHATCLI_"),
        ({}, {"CHATCLI_QUALITY_REFLEXION_QUEUE_WORKERS": "4", "REFLEXIOND_QUEUE_WORKERS": "5"}, "", 5, "REFLEXIOND_"),
        ({"queue.workers": "6"}, {"REFLEXIOND_QUEUE_WORKERS": "5"}, "", 6, "--queue.workers"),
    ],
)
def test_precedence(
    overrides: dict[str, str], env: dict[str, str], file: str, value: int, origin: str, tmp_path: Path
) -> None:
    """Command line, REFLEXIOND_, CHATCLI_, file, default."""
    path = tmp_path / "config.toml"
    path.write_text(file)
    found = load(overrides=overrides, env={"HOME": "/x", "REFLEXIOND_CONFIG": str(path), **env})
    assert value == found.workers
    assert origin in found.resolved["queue.workers"].origin


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"REFLEXIOND_QUEUE_WORKERS": "many"}, ["REFLEXIOND_QUEUE_WORKERS", "'many'", "whole number"]),
        ({"REFLEXIOND_QUEUE_BLOCK_TIMEOUT": "5"}, ["'5'", "1m30s"]),
        ({"REFLEXIOND_PERSIST": "maybe"}, ["'maybe'", "true or false"]),
        ({"REFLEXIOND_QUEUE_JITTER": "0.9"}, ["'0.9'", "at most 0.5"]),
        ({"REFLEXIOND_LOG_LEVEL": "loud"}, ["'loud'", "debug, info"]),
    ],
)
def test_a_bad_value_names_the_variable_the_value_and_the_form(
    env: dict[str, str], said: list[str]
) -> None:
    """The message alone is enough to mend it."""
    with pytest.raises(ConfigError) as caught:
        load(env={"HOME": "/x", **env})
    assert [] == [word for word in said if word not in str(caught.value)]


def test_an_unknown_key_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    """A typing mistake in the file does not silently do nothing."""
    path = tmp_path / "config.toml"
    path.write_text("[queue]\nworker = 3\n")
    with pytest.raises(ConfigError, match=r"queue\.worker.*did you mean 'queue\.workers'"):
        load(env={"HOME": "/x", "REFLEXIOND_CONFIG": str(path)})


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """Invalid TOML gives the path and the place."""
    path = tmp_path / "config.toml"
    path.write_text("queue = [")
    with pytest.raises(ConfigError, match="config.toml is no valid TOML"):
        load(env={"HOME": "/x", "REFLEXIOND_CONFIG": str(path)})


def test_the_state_folder_follows_xdg() -> None:
    """The variables of the basedir specification count when they hold absolute paths."""

    def found(**env: str) -> Settings:
        return load(env={"HOME": "/h", **env})

    assert Path("/h/.local/state/reflexiond") == found().state_dir
    assert Path("/s/reflexiond") == found(XDG_STATE_HOME="/s").state_dir
    assert Path("/h/.local/state/reflexiond") == found(XDG_STATE_HOME="s").state_dir
    assert Path("/b") == found(CHATCLI_QUALITY_REFLEXION_QUEUE_BASE_DIR="/b").state_dir
    assert Path("/h/r") == found(REFLEXIOND_STATE_DIR="~/r").state_dir


def test_every_setting_can_be_described() -> None:
    """The description lists each key with a value that reads back to itself."""
    settings = load(env={"HOME": "/h"})
    listed = {row["key"]: row["value"] for row in describe(settings)["settings"]}
    assert {setting.key for setting in SETTINGS} == set(listed)
    given = {key: value for key, value in listed.items() if value}
    again = load(overrides=given, env={"HOME": "/h"})
    assert settings.workers == again.workers
    assert settings.stale_after_ns == again.stale_after_ns


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_duration_reads_back(ns: int) -> None:
    """Formatting and parsing are inverse over the whole range."""
    assert ns == parse_duration_ns(format_duration(ns))
