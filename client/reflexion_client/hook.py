"""Report a turn's failure after the turn, without ever disturbing it.

Four gates decide whether there is anything to report: metadata `force_reflexion`, the
result's `error`, metadata `verified_with_discrepancy` and `refine_low_quality`, in this
order. When none matches, the hook returns in microseconds.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

from . import config, verbs
from .errors import ReflexionError
from .model import Enqueued, LessonRequest, Trigger
from .sync import Client

log = logging.getLogger("reflexion_client.hook")

MAX_WAITING = 64
"""How many reports may wait in memory for a daemon that is slow to answer."""

_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class Posted:
    """What became of a turn.

    `state` is one of
    - "disabled": reflexion is switched off;
    - "no_failure": no gate matched;
    - "accepted", "deduped" or "parked": the report is on disk, `job` names it;
    - "sent": the deadline passed first, the daemon is still taking the report in;
    - "failed": the report was not taken; `reason` says why.
    """

    state: str
    trigger: str = ""
    job: Enqueued | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Gates:
    """Which triggers are switched on."""

    enabled: bool = True
    on_error: bool = True
    on_hallucination: bool = True
    on_low_quality: bool = False


class ReflexionHook:
    """Call `post_run` after each turn of an agent.

    Args:
        client: how to reach the daemon.
        gates: which triggers count; from the settings when None.
        deadline_s: the longest that a turn waits for the daemon, in seconds; the
            setting `enqueue_deadline` (20 ms) when None.
    """

    def __init__(
        self, client: Client, *, gates: Gates | None = None, deadline_s: float | None = None
    ) -> None:
        settings = config.client_settings(overrides={}, env=os.environ)
        self._client = client
        self._gates = gates or Gates(
            settings.enabled,
            settings.on_error,
            settings.on_hallucination,
            settings.on_low_quality,
        )
        self._deadline_s = settings.enqueue_deadline_ns / 1e9 if deadline_s is None else deadline_s
        self._sender: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._waiting = 0

    def post_run(self, task: str, result: Any) -> Posted:
        """Report the turn if it failed. Never raises, never waits past the deadline.

        Args:
            task: what the turn was to do.
            result: an object or mapping with `error` (exception, text or None),
                `metadata` (a mapping, optional) and `output` (text, optional).
        """
        try:
            request = failure_of(task, result, self._gates)
            if request is None:
                return Posted("no_failure" if self._gates.enabled else "disabled")
            return self._send(request)
        except Exception as error:  # noqa: BLE001 - a hook must not break the turn it observes
            reason = _words(error)
            log.warning("report not sent: %s", reason)
            return Posted("failed", reason=reason)

    def close(self) -> None:
        """Wait until what was handed over has been sent. The next report starts anew."""
        with self._lock:
            sender, self._sender = self._sender, None
        if sender is not None:
            sender.shutdown(wait=True)

    def _send(self, request: LessonRequest) -> Posted:
        # A thread of its own does the sending: connecting, or a frame of megabytes, may
        # take longer than a turn may wait, and must be finished all the same.
        with self._lock:
            if self._waiting >= MAX_WAITING:
                reason = f"{MAX_WAITING} reports are waiting for a daemon that does not answer"
                log.warning("report not sent: %s", reason)
                return Posted("failed", request.trigger, reason=reason)
            if self._sender is None:
                self._sender = ThreadPoolExecutor(1, thread_name_prefix="reflexion-hook")
            self._waiting += 1
            future = self._sender.submit(self._enqueue, request)
        try:
            return future.result(self._deadline_s)
        except FutureTimeout:
            future.add_done_callback(_log_late_failure)
            return Posted("sent", request.trigger)

    def _enqueue(self, request: LessonRequest) -> Posted:
        try:
            return self._deliver(request)
        finally:
            with self._lock:
                self._waiting -= 1

    def _deliver(self, request: LessonRequest) -> Posted:
        client = self._client
        call = verbs.enqueue(
            task=request.task,
            attempt=request.attempt,
            outcome=request.outcome,
            trigger=request.trigger,
            workspace=client.workspace,
            source=client.source,
            # Parked is as durable as accepted: a hook never waits for a slot.
            wait_s=0.0,
        )
        try:
            job = client.perform(call)
        except ReflexionError as error:
            log.warning("report not taken: %s", error)
            return Posted("failed", request.trigger, reason=str(error))
        return Posted(job.outcome, request.trigger, job)


def _log_late_failure(future: Future[Posted]) -> None:
    error = future.exception()
    if error is not None:
        log.warning("report not taken: %s", _words(error))


def _words(error: BaseException) -> str:
    """Say what went wrong; an error from a tool's own object may be unable to."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its name must do
        return type(error).__name__


def failure_of(task: str, result: Any, gates: Gates) -> LessonRequest | None:
    """Return the report that a turn calls for, or None. The first matching gate decides."""
    if not gates.enabled:
        return None
    metadata = _field(result, "metadata")
    facts: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    error = _field(result, "error")
    trigger = _trigger(error, facts, gates)
    if trigger is None:
        return None
    output = _field(result, "output")
    return LessonRequest(
        task, "" if output is None else str(output), _outcome(error, facts), trigger
    )


def _trigger(error: object, facts: Mapping[str, Any], gates: Gates) -> Trigger | None:
    """A reflection that the user asked for comes first, whatever the gates say."""
    if _is_set(facts.get("force_reflexion")):
        return Trigger.MANUAL
    if gates.on_error and error:
        return Trigger.ERROR
    if gates.on_hallucination and _is_set(facts.get("verified_with_discrepancy")):
        return Trigger.HALLUCINATION
    if gates.on_low_quality and _is_set(facts.get("refine_low_quality")):
        return Trigger.LOW_QUALITY
    return None


def _outcome(error: object, facts: Mapping[str, Any]) -> str:
    """What is known of the failure, whichever gate let it through."""
    if error:
        return f"ERROR: {error}"
    if _is_set(facts.get("verified_with_discrepancy")):
        return f"DISCREPANCY (from CoVe): {facts.get('verifier_discrepancies', '')}"
    if _is_set(facts.get("refine_low_quality")):
        return f"LOW QUALITY (from Self-Refine): {facts.get('refine_low_quality_reason', '')}"
    return "MANUAL: user requested /reflect"


def _field(result: Any, name: str) -> Any:
    if isinstance(result, Mapping):
        return result.get(name)
    return getattr(result, name, None)


def _is_set(flag: object) -> bool:
    """Metadata comes from many tools: true, 1 and "true" all mean yes."""
    if isinstance(flag, str):
        return flag.strip().lower() in _TRUE
    return bool(flag)
