"""The hook: which turns are reported, in which words, and that it never disturbs a turn."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion_client import Client, Gates, LessonRequest, ReflexionHook
from reflexion_client.errors import ConfigError, StoreUnavailable
from reflexion_client.hook import MAX_WAITING, failure_of
from reflexion_client.model import Enqueued
from reflexion_client.verbs import Call

OPEN = Gates(on_low_quality=True)
STATES = {"disabled", "no_failure", "accepted", "deduped", "parked", "sent", "failed"}
LONG_S = 30.0
"""A deadline that no test reaches."""

ERROR = {"error": "exit status 2"}
DISCREPANCY = {
    "metadata": {"verified_with_discrepancy": True, "verifier_discrepancies": "2 is not 3"}
}
LOW_QUALITY = {"metadata": {"refine_low_quality": True, "refine_low_quality_reason": "no tests"}}
MANUAL = {"metadata": {"force_reflexion": True}}


@dataclass
class FakeClient:
    """A client that takes every report, or does with it what the test says."""

    take: Callable[[Call[Any]], Enqueued] = lambda _: Enqueued("0" * 16, "accepted", "pending")
    calls: list[Call[Any]] = field(default_factory=list)
    workspace: str = "/w"
    source: str = "tests"

    def perform(self, call: Call[Any]) -> Enqueued:
        self.calls.append(call)
        return self.take(call)


def hook(client: FakeClient, gates: Gates | None = OPEN, deadline_s: float = LONG_S) -> Any:
    return ReflexionHook(cast("Client", client), gates=gates, deadline_s=deadline_s)


def both(*results: dict[str, Any]) -> dict[str, Any]:
    """Return one turn that shows several failures."""
    metadata: dict[str, Any] = {}
    for result in results:
        metadata |= result.get("metadata", {})
    errors = [result["error"] for result in results if "error" in result]
    return {"error": errors[0] if errors else None, "metadata": metadata}


@pytest.mark.parametrize(
    ("result", "trigger", "outcome"),
    [
        (ERROR, "error", "ERROR: exit status 2"),
        ({"error": ValueError("no such mode")}, "error", "ERROR: no such mode"),
        (DISCREPANCY, "hallucination", "DISCREPANCY (from CoVe): 2 is not 3"),
        (LOW_QUALITY, "low_quality", "LOW QUALITY (from Self-Refine): no tests"),
        (MANUAL, "manual", "MANUAL: user requested /reflect"),
        (
            {"metadata": {"verified_with_discrepancy": True}},
            "hallucination",
            "DISCREPANCY (from CoVe): ",
        ),
        (
            {"metadata": {"refine_low_quality": True}},
            "low_quality",
            "LOW QUALITY (from Self-Refine): ",
        ),
    ],
)
def test_each_gate_has_its_words(result: dict[str, Any], trigger: str, outcome: str) -> None:
    """The trigger names the gate, the outcome says what was found."""
    expected = LessonRequest("the task", "the output", outcome, trigger)
    assert expected == failure_of("the task", {**result, "output": "the output"}, OPEN)


@pytest.mark.parametrize(
    ("result", "trigger", "outcome"),
    [
        (both(ERROR, DISCREPANCY, LOW_QUALITY), "error", "ERROR: exit status 2"),
        (both(DISCREPANCY, LOW_QUALITY), "hallucination", "DISCREPANCY (from CoVe): 2 is not 3"),
        (both(MANUAL, ERROR, DISCREPANCY, LOW_QUALITY), "manual", "ERROR: exit status 2"),
        (both(MANUAL, DISCREPANCY), "manual", "DISCREPANCY (from CoVe): 2 is not 3"),
        (both(MANUAL, LOW_QUALITY), "manual", "LOW QUALITY (from Self-Refine): no tests"),
    ],
)
def test_the_first_gate_decides(result: dict[str, Any], trigger: str, outcome: str) -> None:
    """Manual, error, discrepancy, low quality: in this order; the outcome tells what is known."""
    found = failure_of("t", result, OPEN)
    assert found is not None
    assert (trigger, outcome) == (found.trigger, found.outcome)


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        "a text",
        42,
        {"error": None},
        {"error": ""},
        {"output": "Traceback (most recent call last)"},
        {"metadata": None},
        {"metadata": "force_reflexion"},
        {"metadata": [("force_reflexion", True)]},
        {"metadata": {"verifier_discrepancies": "without the flag"}},
        SimpleNamespace(),
        SimpleNamespace(error=None, metadata=None, output="fine"),
    ],
)
def test_a_turn_without_a_failure_is_not_reported(result: Any) -> None:
    """Nothing is sent, no thread is started, and the hook says so."""
    client, threads = FakeClient(), threading.active_count()
    observed = hook(client)
    assert "no_failure" == observed.post_run("t", result).state
    assert ([], threads) == (client.calls, threading.active_count())


@pytest.mark.parametrize(
    ("flag", "means"),
    [
        (True, True),
        (1, True),
        ("true", True),
        (" TRUE\n", True),
        ("1", True),
        ("yes", True),
        ("on", True),
        (False, False),
        (0, False),
        (None, False),
        ("", False),
        ("false", False),
        ("0", False),
        ("no", False),
        ("off", False),
        ("perhaps", False),
    ],
)
@pytest.mark.parametrize(
    "name", ["force_reflexion", "verified_with_discrepancy", "refine_low_quality"]
)
def test_flags_are_bools_or_words(name: str, flag: object, means: bool) -> None:
    """Metadata comes from many tools: true, 1 and "true" all mean yes."""
    assert means is (failure_of("t", {"metadata": {name: flag}}, OPEN) is not None)


@pytest.mark.parametrize("wrap", [dict, MappingProxyType, lambda facts: SimpleNamespace(**facts)])
def test_results_are_mappings_or_objects(wrap: Callable[[dict[str, Any]], Any]) -> None:
    """What a turn returns may be either, with the same names."""
    result = wrap({"error": "boom", "metadata": MappingProxyType({}), "output": ["not", "text"]})
    expected = LessonRequest("t", "['not', 'text']", "ERROR: boom", "error")
    assert expected == failure_of("t", result, OPEN)


@pytest.mark.parametrize(
    ("setting", "result"),
    [("ON_ERROR", ERROR), ("ON_HALLUCINATION", DISCREPANCY), ("ON_LOW_QUALITY", LOW_QUALITY)],
)
@pytest.mark.parametrize("prefix", ["REFLEXIOND_", "CHATCLI_QUALITY_REFLEXION_"])
@pytest.mark.parametrize(("value", "state"), [("false", "no_failure"), ("true", "accepted")])
def test_each_gate_has_a_switch(
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    result: dict[str, Any],
    prefix: str,
    value: str,
    state: str,
) -> None:
    """Both names of a setting open and shut its gate, and no other."""
    monkeypatch.setenv(prefix + setting, value)
    observed = hook(FakeClient(), gates=None)
    assert state == observed.post_run("t", result).state
    assert "accepted" == observed.post_run("t", MANUAL).state
    observed.close()


def test_only_low_quality_is_shut_by_default() -> None:
    """Errors and discrepancies are reported unless one says otherwise."""
    observed = hook(FakeClient(), gates=None)
    states = [observed.post_run("t", each).state for each in (ERROR, DISCREPANCY, LOW_QUALITY)]
    assert ["accepted", "accepted", "no_failure"] == states
    observed.close()


@pytest.mark.parametrize("name", ["REFLEXIOND_ENABLED", "CHATCLI_QUALITY_REFLEXION_ENABLED"])
@pytest.mark.parametrize("result", [ERROR, DISCREPANCY, LOW_QUALITY, MANUAL, {}])
def test_disabled_means_nothing_happens(
    monkeypatch: pytest.MonkeyPatch, name: str, result: dict[str, Any]
) -> None:
    """Switched off, even a reflection that the user asked for is not sent."""
    monkeypatch.setenv(name, "false")
    client, threads = FakeClient(), threading.active_count()
    assert "disabled" == hook(client, gates=None).post_run("t", result).state
    assert ([], threads) == (client.calls, threading.active_count())


def test_a_bad_setting_is_told_when_the_hook_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the first turn: the error names the variable and its value."""
    monkeypatch.setenv("REFLEXIOND_ON_ERROR", "sometimes")
    with pytest.raises(ConfigError, match="REFLEXIOND_ON_ERROR = 'sometimes'"):
        hook(FakeClient(), gates=None)


def test_the_report_tells_where_it_comes_from() -> None:
    """Workspace and source are the client's, and no slot is waited for."""
    client = FakeClient(workspace="/project", source="my-agent")
    observed = hook(client)
    posted = observed.post_run("the task", {**ERROR, "output": "the output"})
    observed.close()
    assert ("accepted", "error", "0" * 16) == (posted.state, posted.trigger, posted.job.id)
    [call] = client.calls
    expected = {
        "task": "the task",
        "attempt": "the output",
        "outcome": "ERROR: exit status 2",
        "trigger": "error",
        "workspace": "/project",
        "source": "my-agent",
        "wait_s": 0.0,
    }
    assert ("enqueue", expected) == (call.method, call.params)


def test_the_deadline_ends_the_wait_and_not_the_report() -> None:
    """Past the deadline the answer is "sent"; `close` waits until the report is taken."""
    taken, gate = threading.Event(), threading.Event()

    def slow(call: Call[Any]) -> Enqueued:
        gate.wait(20)
        taken.set()
        return Enqueued("0" * 16, "accepted", "pending")

    observed = hook(FakeClient(slow), deadline_s=0.001)
    posted = observed.post_run("t", ERROR)
    assert ("sent", "error", None, "") == (
        posted.state,
        posted.trigger,
        posted.job,
        posted.reason,
    )
    assert not taken.is_set()
    gate.set()
    observed.close()
    assert taken.is_set()


def test_the_usual_deadline_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument the setting `enqueue_deadline` bounds the wait."""
    monkeypatch.setenv("REFLEXIOND_ENQUEUE_DEADLINE", "1ns")
    gate = threading.Event()

    def slow(call: Call[Any]) -> Enqueued:
        gate.wait(20)
        return Enqueued("0" * 16, "accepted", "pending")

    observed = ReflexionHook(cast("Client", FakeClient(slow)), gates=OPEN)
    assert "sent" == observed.post_run("t", ERROR).state
    gate.set()
    observed.close()


def test_a_closed_hook_starts_anew() -> None:
    """Closing is idempotent, and the next report is sent all the same."""
    observed = hook(FakeClient())
    observed.close()
    assert "accepted" == observed.post_run("t", ERROR).state
    observed.close()
    observed.close()


def test_without_a_daemon_the_report_fails_softly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No exception, no wait: the reason in the answer, and one line in the log."""
    client = Client(state_dir=tmp_path / "state", source="tests")
    observed = ReflexionHook(client, gates=OPEN, deadline_s=LONG_S)
    began = time.monotonic()
    posted = observed.post_run("t", ERROR)
    observed.close()
    assert time.monotonic() - began < LONG_S
    assert ("failed", "error", None) == (posted.state, posted.trigger, posted.job)
    assert posted.reason.startswith(f"no daemon answers at {tmp_path}/state/run/reflexiond.sock")
    assert [f"report not taken: {posted.reason}"] == [one.getMessage() for one in caplog.records]


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is full"), RuntimeError("a bug")])
@pytest.mark.parametrize("late", [False, True])
def test_a_refusal_is_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, error: Exception, late: bool
) -> None:
    """Whatever goes wrong while sending, in time or too late, is told once and not raised."""
    gate = threading.Event()

    def refuse(call: Call[Any]) -> NoReturn:
        if late:
            gate.wait(20)
        raise error

    observed = hook(FakeClient(refuse), deadline_s=0.001 if late else LONG_S)
    posted = observed.post_run("t", ERROR)
    gate.set()
    observed.close()
    assert ("sent" if late else "failed") == posted.state
    [record] = caplog.records
    assert (logging.WARNING, True) == (record.levelno, str(error) in record.getMessage())


class Hostile:
    """An object that raises whatever is asked of it."""

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "raised", error)

    def _raise(self, *_: object) -> NoReturn:
        raise object.__getattribute__(self, "raised")

    def __getattribute__(self, name: str) -> NoReturn:
        Hostile._raise(self)

    __bool__ = __str__ = __repr__ = __eq__ = __len__ = __iter__ = __hash__ = _raise


class SilentError(Exception):
    """An exception that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


ERRORS = st.sampled_from([ValueError("x"), SilentError(), RecursionError(), AttributeError("y")])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.sampled_from(["\ud800", "\0"])
    | ERRORS
    | st.builds(Hostile, ERRORS)
)
METADATA = st.dictionaries(
    st.sampled_from(
        [
            "force_reflexion",
            "verified_with_discrepancy",
            "verifier_discrepancies",
            "refine_low_quality",
            "refine_low_quality_reason",
        ]
    ),
    SCALARS,
)
TURNS = st.fixed_dictionaries(
    {}, optional={"error": SCALARS, "output": SCALARS, "metadata": METADATA | SCALARS}
)


@given(
    task=SCALARS,
    result=TURNS | TURNS.map(lambda facts: SimpleNamespace(**facts)) | SCALARS,
)
def test_no_result_makes_it_raise(task: Any, result: Any) -> None:
    """Whatever a turn returns, the hook gives an answer of the documented kind."""
    observed = hook(FakeClient())
    try:
        assert observed.post_run(task, result).state in STATES
    finally:
        observed.close()


def test_an_error_without_words_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """A result that raises an exception which cannot be printed is a failed report, too."""
    posted = hook(FakeClient()).post_run("t", Hostile(SilentError()))
    assert ("failed", "SilentError") == (posted.state, posted.reason)
    assert ["report not sent: SilentError"] == [one.getMessage() for one in caplog.records]


def test_reports_that_wait_are_bounded() -> None:
    """A daemon that takes nothing costs bounded memory; what is over the bound is told at once."""
    go = threading.Event()

    def take(_: Call[Any]) -> Enqueued:
        go.wait()
        return Enqueued("0" * 16, "accepted", "pending")

    busy = hook(FakeClient(take), deadline_s=0.0)
    states = [busy.post_run(f"task {n}", ERROR).state for n in range(MAX_WAITING + 1)]
    go.set()
    busy.close()
    assert ["sent"] * MAX_WAITING + ["failed"] == states
    assert "accepted" == hook(FakeClient()).post_run("task", ERROR).state
