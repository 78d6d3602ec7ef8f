"""The composition root: the one place where the parts meet. Start, run, drain, stop."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets
import signal
import sys
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from reflexion_client import __version__
from reflexion_client.config import default_state_dir
from reflexion_client.errors import ConfigError
from reflexion_client.paths import default_socket
from reflexiond.clock import SECOND_NS, Clock, SystemClock
from reflexiond.events import Bus, Event
from reflexiond.learn import Learner
from reflexiond.memory.embed import Embedder, open_embedder
from reflexiond.memory.embed.port import EmbedderUnavailable
from reflexiond.memory.keys import Keys
from reflexiond.memory.recall import Recaller
from reflexiond.observe.counters import Counters
from reflexiond.observe.logs import write_event
from reflexiond.platform.lock import StateLock
from reflexiond.platform.paths import DATABASE_NAME, prepare_state_dir
from reflexiond.platform.peers import is_trusted
from reflexiond.platform.sockets import announce, bind, raise_file_limit, withdraw
from reflexiond.queue.admission import Admissions
from reflexiond.queue.backoff import RetryPolicy
from reflexiond.queue.housekeeper import Housekeeper
from reflexiond.queue.workers import Workers
from reflexiond.rpc.methods import METHODS, PROMPT, Method
from reflexiond.rpc.params import Params
from reflexiond.rpc.server import Handler, Limits, Server
from reflexiond.rpc.services import Identity, Json, Services
from reflexiond.settings import Settings, describe
from reflexiond.store.sqlite import SqliteStore

log = logging.getLogger("reflexiond")

SWITCH_S = 0.0005
"""How long a computing thread may keep the others waiting: reports come before lessons."""
GUARD_S = 10.0
"""How often to look whether the state folder is still ours."""
REPLY_GRACE_S = 2.0
"""How long calls under way may take to be answered once the queue is drained."""


class Daemon:
    """One daemon's life. `run` returns when it was asked to stop and has drained.

    Args:
        settings: all settings, resolved.
        clock: the time of day.
    """

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._stop = asyncio.Event()
        self._draining = False
        self.ready = asyncio.Event()

    def stop(self) -> None:
        """Ask the daemon to drain and stop."""
        self._stop.set()

    async def run(self) -> None:
        """Start, serve until stopped, drain, stop.

        Raises:
            StartupError, ConfigError: it could not start; nothing was changed.
        """
        settings = self._settings
        state_dir = prepare_state_dir(settings.state_dir)
        raise_file_limit()
        async with AsyncExitStack() as stack:
            lock = stack.enter_context(StateLock(state_dir))
            store = await SqliteStore.open(
                state_dir / DATABASE_NAME, volatile_queue=not settings.queue_enabled
            )
            stack.push_async_callback(store.close)
            await self._serve(stack, state_dir, store, lock)

    async def _serve(
        self, stack: AsyncExitStack, state_dir: Path, store: SqliteStore, lock: StateLock
    ) -> None:
        settings, clock = self._settings, self._clock
        bus, counters = Bus(), Counters()
        bus.subscribe(counters.count)
        bus.subscribe(write_event)
        store.database.on_problem = partial(_publish_problem, bus)

        keys = Keys(store, await _embedder(settings))
        stack.push_async_callback(keys.close)
        learner = Learner(keys.of_lesson, clock, persist=settings.persist)
        workers = Workers(
            store,
            learner,
            policy=RetryPolicy(
                initial_delay_ns=settings.initial_delay_ns,
                max_delay_ns=settings.max_delay_ns,
                jitter_fraction=settings.jitter,
                max_attempts=settings.max_attempts,
            ),
            clock=clock,
            random=random.random,
            count=settings.workers,
            job_timeout_ns=settings.job_timeout_ns,
            publish=bus.publish,
            # Both are made a few lines below.
            freed=lambda: admissions.admit(),  # noqa: PLW0108
            quiet=lambda: admissions.quiet(),  # noqa: PLW0108
        )
        admissions = Admissions(
            store,
            clock,
            capacity=settings.capacity,
            drop_oldest=settings.drop_oldest,
            block_timeout_ns=settings.block_timeout_ns,
            publish=bus.publish,
            wake=workers.wake,
        )
        housekeeper = Housekeeper(
            store,
            clock,
            crash_budget=settings.crash_budget,
            stale_after_ns=settings.stale_after_ns,
            history_age_ns=settings.history_max_age_ns,
            history_rows=settings.history_max_rows,
            publish=bus.publish,
            admit=admissions.admit,
        )
        await housekeeper.recover()

        path = _socket_path(settings, state_dir)
        identity = Identity(
            version=__version__,
            boot_id=secrets.token_hex(8),
            pid=os.getpid(),
            started_at_ns=clock.now_ns(),
            socket=str(path),
            state_dir=str(state_dir),
        )
        services = Services(
            identity=identity,
            clock=clock,
            store=store,
            admissions=admissions,
            workers=workers,
            keys=keys,
            recaller=Recaller(
                store,
                keys,
                limit=settings.recall_limit,
                floor=settings.recall_floor,
                token_budget=settings.recall_token_budget,
            ),
            publish=bus.publish,
            queue_persistent=settings.queue_enabled,
            counters=counters.totals,
            store_facts=store.facts,
            connections=lambda: len(server.connections),
            settings=lambda: describe(settings),
            shutdown=self.stop,
            draining=lambda: self._draining,
            persist=settings.persist,
        )
        server = Server(
            {name: _handler(method, services) for name, method in METHODS.items()},
            is_trusted=is_trusted,
            limits=Limits(
                max_frame_bytes=settings.max_frame_bytes,
                max_connections=settings.max_connections,
                max_pending=settings.max_pending,
            ),
            prompt=PROMPT,
        )
        listener = bind(path)
        stack.callback(_withdraw_ours, lock, state_dir, path)
        await server.start(listener)
        announce(state_dir, path, identity.boot_id, identity.version)
        workers.start()
        housekeeper.start()
        guard = asyncio.create_task(self._guard(lock, state_dir), name="guard")
        log.info("ready: pid %d, socket %s", identity.pid, path)
        self.ready.set()
        try:
            await self._stop.wait()
        finally:
            self._draining = True
            log.info("draining")
            guard.cancel()
            admissions.close()
            await housekeeper.stop()
            await workers.stop(settings.drain_timeout_ns / SECOND_NS)
            await server.stop(REPLY_GRACE_S)
            log.info("stopped")

    async def _guard(self, lock: StateLock, state_dir: Path) -> None:
        """Stop when the state folder is gone: a report taken now would be lost."""
        while lock.is_in_place():  # noqa: ASYNC110 - nobody tells of a deleted folder
            await asyncio.sleep(GUARD_S)
        log.error("the state folder %s was deleted or replaced: stopping", state_dir)
        self.stop()


def _withdraw_ours(lock: StateLock, state_dir: Path, path: Path) -> None:
    """Remove socket and record. In a folder that was replaced, they are another daemon's."""
    if lock.is_in_place():
        withdraw(state_dir, path)


def _handler(method: Method, services: Services) -> Handler:
    def handle(params: dict[str, Any]) -> Awaitable[Json]:
        return method(services, Params(params))

    return handle


async def _embedder(settings: Settings) -> Embedder | None:
    """Open the embedding model. A folder that holds none is a bad setting, told at once."""
    try:
        return await open_embedder(
            settings.embed_model,
            threads=settings.embed_threads,
            idle_unload_s=settings.embed_idle_unload_ns / SECOND_NS,
        )
    except EmbedderUnavailable as error:
        raise ConfigError(f"embed.model = {settings.embed_model!r}: {error}") from error


def _socket_path(settings: Settings, state_dir: Path) -> Path:
    if settings.socket:
        return Path(settings.socket).absolute()
    return default_socket(state_dir, default_state_dir(os.environ), os.environ)


def _publish_problem(bus: Bus, problem: str) -> None:
    if problem:
        bus.publish(Event("degraded", detail=problem))
    else:
        bus.publish(Event("recovered", detail="the store can be written again"))


def run(settings: Settings) -> None:
    """Run a daemon in the foreground until SIGTERM, SIGINT, SIGHUP or a `shutdown` call."""
    os.umask(0o077)
    # Every path is absolute by now; a daemon should not hold on to somebody's folder.
    os.chdir("/")
    sys.setswitchinterval(SWITCH_S)

    async def main() -> None:
        daemon = Daemon(settings)
        loop = asyncio.get_running_loop()
        # SIGHUP: the terminal of a daemon in the foreground was closed.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, daemon.stop)
        await daemon.run()

    asyncio.run(main())
