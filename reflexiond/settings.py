"""Every setting of the daemon, in one table. docs/configuration.md is checked against it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reflexion_client.config import (
    CLIENT_SETTINGS,
    Resolved,
    Setting,
    config_file,
    load_file,
    resolve,
    show,
    state_dir,
)
from reflexion_client.config import absolute as absolute_path
from reflexion_client.errors import ConfigError
from reflexion_client.wire import MAX_FRAME_BYTES

_QUEUE = "CHATCLI_QUALITY_REFLEXION_QUEUE_"
_SECOND = 1_000_000_000
_HOUR = 3_600 * _SECOND


def _queue(key: str, *args: Any, **options: Any) -> Setting:
    """Return a setting of the queue; its ChatCLI twin has the same last words."""
    kind, default, text = args
    word = key.upper()
    names = (f"REFLEXIOND_QUEUE_{word}", f"{_QUEUE}{word}")
    return Setting(f"queue.{key}", kind, default, names, text, **options)


SETTINGS: tuple[Setting, ...] = (
    *CLIENT_SETTINGS,
    Setting(
        "persist",
        "bool",
        True,
        ("REFLEXIOND_PERSIST", "CHATCLI_QUALITY_REFLEXION_PERSIST"),
        "Whether lessons are stored; false only logs them.",
    ),
    _queue("enabled", "bool", True, "Whether jobs are on disk; false keeps them in memory only."),
    _queue(
        "workers", "int", 2, "How many jobs are processed at once.", minimum=1, maximum=64
    ),
    _queue(
        "capacity", "int", 1000, "How many jobs may be pending; more are parked.", minimum=1,
        maximum=10_000_000,
    ),
    _queue(
        "drop_oldest", "bool", False, "When full, park the oldest job instead of the new one."
    ),
    _queue(
        "block_timeout", "duration", 5 * _SECOND,
        "How long a report waits for a slot before it is answered as parked.", minimum=1,
    ),
    _queue(
        "max_attempts", "int", 5, "Attempts before a job goes to the dead letters.", minimum=1,
        maximum=1_000,
    ),
    _queue(
        "initial_delay", "duration", _SECOND, "The delay before the first retry; it doubles.",
        minimum=1,
    ),
    _queue("max_delay", "duration", 300 * _SECOND, "The longest delay between retries.", minimum=1),
    _queue(
        "jitter", "float", 0.2, "How far a delay varies either way, as a share of it.",
        minimum=0, maximum=0.5,
    ),
    _queue("job_timeout", "duration", 120 * _SECOND, "How long one attempt may take.", minimum=1),
    _queue(
        "stale_after", "duration", 168 * _HOUR,
        "How long a waiting report is worth a lesson; 0: for ever.", minimum=0,
    ),
    Setting(
        "queue.drain_timeout", "duration", 30 * _SECOND, ("REFLEXIOND_QUEUE_DRAIN_TIMEOUT",),
        "How long jobs under way may take to finish at a stop.", minimum=0,
    ),
    Setting(
        "queue.crash_budget", "int", 3, ("REFLEXIOND_QUEUE_CRASH_BUDGET",),
        "How often the daemon may die over a job before the job is buried.", minimum=1,
        maximum=100,
    ),
    Setting(
        "history.max_age", "duration", 720 * _HOUR, ("REFLEXIOND_HISTORY_MAX_AGE",),
        "How long ended jobs are remembered.", minimum=0,
    ),
    Setting(
        "history.max_rows", "int", 100_000, ("REFLEXIOND_HISTORY_MAX_ROWS",),
        "How many ended jobs are remembered.", minimum=0,
    ),
    Setting(
        "embed.model", "path", "builtin", ("REFLEXIOND_EMBED_MODEL",),
        "builtin, off, or a folder with model.onnx and tokenizer.json.",
    ),
    Setting(
        "embed.threads", "int", 1, ("REFLEXIOND_EMBED_THREADS",),
        "Threads that the embedding model may use.", minimum=1, maximum=64,
    ),
    Setting(
        "embed.idle_unload", "duration", 600 * _SECOND, ("REFLEXIOND_EMBED_IDLE_UNLOAD",),
        "How long an unused embedding model stays in memory.", minimum=_SECOND,
    ),
    Setting(
        "recall.limit", "int", 3, ("REFLEXIOND_RECALL_LIMIT",),
        "The most lessons that a recall returns.", minimum=1, maximum=20,
    ),
    Setting(
        "recall.floor", "float", None, ("REFLEXIOND_RECALL_FLOOR",),
        "The least relevance; empty: the embedding model's own.", minimum=0, maximum=2,
    ),
    Setting(
        "recall.token_budget", "int", 800, ("REFLEXIOND_RECALL_TOKEN_BUDGET",),
        "The most tokens that the recalled section takes.", minimum=50, maximum=100_000,
    ),
    Setting(
        "log.level", "text", "info", ("REFLEXIOND_LOG_LEVEL",),
        "How much is logged.", choices=("debug", "info", "warning", "error"),
    ),
    Setting(
        "rpc.max_frame_bytes", "int", MAX_FRAME_BYTES, ("REFLEXIOND_RPC_MAX_FRAME_BYTES",),
        "The largest message that a client may send.", minimum=4_096, maximum=2**30,
    ),
    Setting(
        "rpc.max_connections", "int", 256, ("REFLEXIOND_RPC_MAX_CONNECTIONS",),
        "How many clients may be connected.", minimum=1, maximum=60_000,
    ),
    Setting(
        "rpc.max_pending", "int", 1024, ("REFLEXIOND_RPC_MAX_PENDING",),
        "How many requests of one client may be under way.", minimum=1, maximum=1_000_000,
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, resolved. Durations in nanoseconds; `socket` None: the default place."""

    persist: bool
    state_dir: Path
    socket: Path | None
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
    embed_threads: int
    embed_idle_unload_ns: int
    recall_limit: int
    recall_floor: float | None
    recall_token_budget: int
    log_level: str
    max_frame_bytes: int
    max_connections: int
    max_pending: int
    file: Path
    resolved: Mapping[str, Resolved]


def load(
    *, overrides: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
) -> Settings:
    """Read every setting. Precedence: command line, REFLEXIOND_, CHATCLI_, file, default.

    Raises:
        ConfigError: a value that is refused, naming where it stands and what is accepted.
    """
    env = os.environ if env is None else env
    path = config_file(env)
    found = resolve(
        SETTINGS, overrides=overrides or {}, env=env, file=load_file(path), file_name=str(path)
    )

    def value(key: str) -> Any:
        return found[key].value

    _check_delays(found)
    socket, model = value("socket"), value("embed.model")
    return Settings(
        persist=value("persist"),
        state_dir=state_dir(value("state_dir"), env),
        socket=absolute_path(socket, env) if socket else None,
        queue_enabled=value("queue.enabled"),
        workers=value("queue.workers"),
        capacity=value("queue.capacity"),
        drop_oldest=value("queue.drop_oldest"),
        block_timeout_ns=value("queue.block_timeout"),
        max_attempts=value("queue.max_attempts"),
        initial_delay_ns=value("queue.initial_delay"),
        max_delay_ns=max(value("queue.max_delay"), value("queue.initial_delay")),
        jitter=value("queue.jitter"),
        job_timeout_ns=value("queue.job_timeout"),
        stale_after_ns=value("queue.stale_after"),
        drain_timeout_ns=value("queue.drain_timeout"),
        crash_budget=value("queue.crash_budget"),
        history_max_age_ns=value("history.max_age"),
        history_max_rows=value("history.max_rows"),
        embed_model=model if model in {"builtin", "off"} else str(absolute_path(model, env)),
        embed_threads=value("embed.threads"),
        embed_idle_unload_ns=value("embed.idle_unload"),
        recall_limit=value("recall.limit"),
        recall_floor=value("recall.floor"),
        recall_token_budget=value("recall.token_budget"),
        log_level=value("log.level"),
        max_frame_bytes=value("rpc.max_frame_bytes"),
        max_connections=value("rpc.max_connections"),
        max_pending=value("rpc.max_pending"),
        file=path,
        resolved=found,
    )


def _check_delays(found: Mapping[str, Resolved]) -> None:
    """Refuse a longest delay that was set below the first one: one of the two is a mistake."""
    first, longest = found["queue.initial_delay"], found["queue.max_delay"]
    if longest.origin != "default" and longest.value < first.value:
        raise ConfigError(
            f"{longest.origin}: queue.max_delay must be at least queue.initial_delay "
            f"({show(_by_key('queue.initial_delay'), first.value)})"
        )


def _by_key(key: str) -> Setting:
    return next(setting for setting in SETTINGS if setting.key == key)


def describe(settings: Settings) -> dict[str, Any]:
    """Return every setting with its value as text and its origin, for `config`."""
    return {
        "file": str(settings.file),
        "settings": [
            {
                "key": setting.key,
                "value": show(setting, settings.resolved[setting.key].value),
                "origin": settings.resolved[setting.key].origin,
                "help": setting.help,
                "names": list(setting.names),
            }
            for setting in SETTINGS
        ],
    }
