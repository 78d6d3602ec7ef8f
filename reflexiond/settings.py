"""Every setting of the daemon: name, environment names, default, bounds, one line of help."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reflexion_client._gotext import parse_duration_ns
from reflexion_client.config import (
    CLIENT_SETTINGS,
    Resolved,
    Setting,
    config_file,
    resolve,
    state_dir,
)
from reflexion_client.errors import ConfigError

_SECOND_NS = parse_duration_ns("1s")
_LONGEST_DELAY_NS = parse_duration_ns("8760h")
_MAX_WORKERS = 1024

SETTINGS: tuple[Setting, ...] = (
    *CLIENT_SETTINGS,
    Setting("persist", "bool", "true", "Store lessons; otherwise only log them.", "PERSIST"),
    Setting(
        "queue.enabled",
        "bool",
        "true",
        "Keep reports on disk; otherwise in memory, lost at a stop.",
        "QUEUE_ENABLED",
    ),
    Setting(
        "queue.workers",
        "int",
        "2",
        "How many reports are worked on at once.",
        "QUEUE_WORKERS",
        minimum=1,
        maximum=_MAX_WORKERS,
    ),
    Setting(
        "queue.capacity",
        "int",
        "1000",
        "How many reports wait in the queue; more are parked on disk.",
        "QUEUE_CAPACITY",
        minimum=1,
    ),
    Setting(
        "queue.drop_oldest",
        "bool",
        "false",
        "Full queue: park the oldest report at once instead of waiting for room.",
        "QUEUE_DROP_OLDEST",
    ),
    Setting(
        "queue.block_timeout",
        "duration",
        "5s",
        "Full queue: how long a report waits for room before it is parked.",
        "QUEUE_BLOCK_TIMEOUT",
        minimum=1,
    ),
    Setting(
        "queue.max_attempts",
        "int",
        "5",
        "Attempts before a report goes to the dead-letter queue.",
        "QUEUE_MAX_ATTEMPTS",
        minimum=1,
    ),
    Setting(
        "queue.initial_delay",
        "duration",
        "1s",
        "The wait after the first failed attempt; it doubles with each one.",
        "QUEUE_INITIAL_DELAY",
        minimum=1,
        maximum=_LONGEST_DELAY_NS,
    ),
    Setting(
        "queue.max_delay",
        "duration",
        "5m",
        "The longest wait; the default rises to queue.initial_delay.",
        "QUEUE_MAX_DELAY",
        minimum=1,
        maximum=_LONGEST_DELAY_NS,
    ),
    Setting(
        "queue.jitter",
        "float",
        "0.2",
        "The share by which each wait varies at random.",
        "QUEUE_JITTER",
        maximum=0.5,
    ),
    Setting(
        "queue.job_timeout",
        "duration",
        "2m",
        "How long one attempt may take.",
        "QUEUE_JOB_TIMEOUT",
        minimum=1,
    ),
    Setting(
        "queue.stale_after",
        "duration",
        "168h",
        "The age at which a waiting report is discarded; 0: never.",
        "QUEUE_STALE_AFTER",
    ),
    Setting(
        "queue.drain_timeout",
        "duration",
        "30s",
        "How long a stop waits for the reports under way.",
    ),
    Setting(
        "queue.crash_budget",
        "int",
        "3",
        "How often the daemon may die over a report before the report is buried.",
        minimum=1,
    ),
    Setting(
        "history.max_age",
        "duration",
        "720h",
        "How long ended reports are remembered.",
        minimum=_SECOND_NS,
    ),
    Setting("history.max_rows", "int", "100000", "How many ended reports are remembered."),
    Setting(
        "embed.model",
        "path",
        "builtin",
        "The embedding model: builtin, off, or a folder with model.onnx and tokenizer.json.",
        choices=("builtin", "off"),
    ),
    Setting(
        "embed.idle_unload",
        "duration",
        "10m",
        "The idle time after which the model leaves memory; 0: never.",
    ),
    Setting("embed.threads", "int", "1", "Threads for embedding one text.", minimum=1, maximum=256),
    Setting(
        "recall.limit",
        "int",
        "3",
        "How many lessons a recall returns at most.",
        minimum=1,
        maximum=20,
    ),
    Setting(
        "recall.floor",
        "float",
        "",
        "The least relevance of a recalled lesson; when empty, the model's own floor.",
        maximum=2,
        open_bounds=True,
        example="0.5",
    ),
    Setting(
        "recall.token_budget",
        "int",
        "800",
        "How many tokens the section for the agent takes at most.",
        minimum=1,
        maximum=1_000_000,
    ),
    Setting(
        "log.level",
        "word",
        "info",
        "The least severe messages that are logged.",
        choices=("debug", "info", "warning", "error"),
        option="--log-level",
    ),
    Setting(
        "rpc.max_frame_bytes",
        "int",
        "16842752",
        "The largest message accepted, in bytes.",
        minimum=65_536,
        maximum=1 << 30,
    ),
    Setting(
        "rpc.max_connections",
        "int",
        "256",
        "How many connections are open at once.",
        minimum=1,
        maximum=65_536,
    ),
    Setting(
        "rpc.max_pending",
        "int",
        "1024",
        "How many requests of one connection are under way at once.",
        minimum=1,
        maximum=65_536,
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, resolved. Durations are nanoseconds.

    `resolved` holds every value with its origin, by key; `file` is the `config.toml`
    that was looked for.
    """

    enabled: bool
    on_error: bool
    on_hallucination: bool
    on_low_quality: bool
    state_dir: Path
    socket: str
    autostart: bool
    enqueue_deadline_ns: int
    persist: bool
    queue_enabled: bool
    workers: int
    capacity: int
    drop_oldest: bool
    block_timeout_ns: int
    max_attempts: int
    initial_delay_ns: int
    max_delay_ns: int
    jitter: float
    job_timeout_ns: int
    stale_after_ns: int
    drain_timeout_ns: int
    crash_budget: int
    history_max_age_ns: int
    history_max_rows: int
    embed_model: str
    embed_idle_unload_ns: int
    embed_threads: int
    recall_limit: int
    recall_floor: float | None
    recall_token_budget: int
    log_level: str
    max_frame_bytes: int
    max_connections: int
    max_pending: int
    resolved: Mapping[str, Resolved]
    file: Path


def load(
    *,
    overrides: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """Read all settings.

    Args:
        overrides: values given on the command line, by key.
        env: the environment; None: that of this process.
        file: the `config.toml`; None: where the environment says.

    Raises:
        ConfigError: a value is refused, a key is unknown, or the file cannot be read.
    """
    env = os.environ if env is None else env
    file = config_file(env) if file is None else file
    found = resolve(SETTINGS, overrides=overrides or {}, env=env, file=file)
    found["queue.max_delay"] = _max_delay(found)
    folder = state_dir(str(found["state_dir"].value), env)
    found["state_dir"] = replace(found["state_dir"], value=str(folder))
    values: dict[str, Any] = {_attribute(setting): found[setting.key].value for setting in SETTINGS}
    return Settings(**{**values, "state_dir": folder}, resolved=found, file=file)


def describe(settings: Settings) -> dict[str, Any]:
    """Return the settings for people: value as text, origin, help and names of each."""
    return {
        "settings": [
            {
                "key": setting.key,
                "value": setting.write(settings.resolved[setting.key].value),
                "origin": settings.resolved[setting.key].origin,
                "default": setting.default,
                "help": setting.help,
                "names": list(setting.names),
            }
            for setting in SETTINGS
        ],
        "file": str(settings.file),
    }


def _attribute(setting: Setting) -> str:
    """`queue.block_timeout` is `block_timeout_ns` here, `embed.model` is `embed_model`."""
    table, _, name = setting.key.rpartition(".")
    plain = table in ("queue", "rpc") and name != "enabled"
    attribute = name if plain or not table else f"{table}_{name}"
    return f"{attribute}_ns" if setting.kind == "duration" else attribute


def _max_delay(found: Mapping[str, Resolved]) -> Resolved:
    """Refuse a longest wait below the first one; let one that nobody gave follow it."""
    first, longest = found["queue.initial_delay"], found["queue.max_delay"]
    if int(longest.value or 0) >= int(first.value or 0):
        return longest
    if longest.origin == "default":
        return replace(longest, value=first.value)
    raise ConfigError(
        f"queue.max_delay ({longest.origin}) is shorter than queue.initial_delay "
        f"({first.origin}): expected a duration at least as long, such as 5m"
    )
