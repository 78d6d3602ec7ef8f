"""What the methods may use: the daemon's parts, handed over once by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reflexiond.clock import Clock
from reflexiond.events import Publish
from reflexiond.memory.keys import Keys
from reflexiond.memory.recall import Recaller
from reflexiond.queue.admission import Admissions
from reflexiond.queue.workers import Workers
from reflexiond.store.port import Store

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which daemon this is."""

    version: str
    boot_id: str
    pid: int
    started_at_ns: int
    socket: str
    state_dir: str


@dataclass(frozen=True, slots=True)
class Services:
    """The parts behind the methods."""

    identity: Identity
    clock: Clock
    store: Store
    admissions: Admissions
    workers: Workers
    keys: Keys
    recaller: Recaller
    publish: Publish
    queue_persistent: bool
    counters: Callable[[], dict[str, int]]
    store_facts: Callable[[], Json]
    connections: Callable[[], int]
    settings: Callable[[], Json]
    shutdown: Callable[[], None]
    draining: Callable[[], bool]
    persist: bool
