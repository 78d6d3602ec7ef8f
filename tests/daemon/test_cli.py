"""reflexionctl against a real daemon, as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def ctl(state_dir: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run one command of the command line."""
    command = [sys.executable, "-m", "reflexionctl", "--state-dir", str(state_dir), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def ask(state_dir: Path, *arguments: str) -> Any:
    """Return the JSON document of a command that succeeds."""
    done = ctl(state_dir, *arguments, "--json")
    assert (0, "") == (done.returncode, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        *([], ["status"], ["list"], ["failed"], ["history"], ["lessons"], ["lessons", "list"]),
        *(["config"], ["drain"], ["retry", "--all"], ["purge", "--all", "--yes"]),
        *(["recall", "anything at all"], ["report", "--task", "t", "--outcome", "ERROR: x"]),
    ],
)
def test_every_document_is_one(daemon: Any, arguments: list[str]) -> None:
    """Each command speaks JSON and plain text, and succeeds on an empty daemon."""
    assert isinstance(ask(daemon.state_dir, *arguments), dict)
    done = ctl(daemon.state_dir, *arguments)
    assert done.returncode == 0, done.stderr
    assert "\t" not in done.stdout
    assert "\x1b" not in done.stdout


def test_a_failing_command_leaves_a_lesson(daemon: Any, wait_for: Any) -> None:
    """What `run` reports becomes a lesson, is in the history, and is recalled and told again."""
    state, failing = daemon.state_dir, ["sh", "-c", "echo 'make: *** No rule: gen.go' >&2; exit 2"]
    first = ctl(state, "run", "--task", "build the service with make", "--", *failing)
    assert (2, "") == (first.returncode, first.stdout)
    assert "next step: " in first.stderr
    job_id = first.stderr.split()[-1]

    (ended,) = wait_for(lambda: ask(state, "history")["history"])
    assert (job_id, "success") == (ended["id"], ended["outcome"])
    shown = ask(state, "show", job_id[:6])
    assert [job_id] == [entry["id"] for entry in shown["history"]]
    lesson = ask(state, "lessons", "show", ended["lesson_id"])["lesson"]
    assert job_id == lesson["job_id"]

    section = ctl(state, "recall", "build the service with make").stdout
    assert section.startswith("## Long-term Memory")
    again = ctl(state, "run", "--task", "build the service with make", "--", *failing)
    assert "## Long-term Memory" in again.stderr


def test_a_lesson_of_ones_own(daemon: Any) -> None:
    """A manual lesson is stored at once, known the second time, and can be deleted."""
    state = daemon.state_dir
    stored = ask(state, "reflect", "run make generate before make build")
    assert stored["new"] is True
    assert ask(state, "reflect", "run make generate before make build")["new"] is False
    assert stored["id"] == ask(state, "show", stored["id"])["lesson"]["id"]
    assert ask(state, "lessons", "delete", stored["id"], "--yes") == {"deleted": stored["id"]}
    assert ask(state, "lessons")["lessons"] == []


@pytest.mark.parametrize(
    "arguments", [["show", "ffff"], ["retry", "ffff"], ["lessons", "delete", "ffff", "--yes"]]
)
def test_nothing_has_that_id(daemon: Any, arguments: list[str]) -> None:
    """An unknown id ends with 1 and one line."""
    done = ctl(daemon.state_dir, *arguments)
    assert (1, "") == (done.returncode, done.stdout)
    assert len(done.stderr.splitlines()) == 1


def test_refusals_are_one_line(daemon: Any) -> None:
    """What the daemon refuses ends with 1 and the daemon's own words."""
    done = ctl(daemon.state_dir, "reflect", " ")
    assert done.returncode == 1
    assert done.stderr.startswith("reflexionctl: `text` is empty")


def test_start_and_stop(tmp_path: Path) -> None:
    """A background daemon is started once, answers, and is gone when `stop` returns."""
    state = tmp_path / "state"
    started = ask(state, "start")
    try:
        assert started["started"] is True
        assert {**started, "started": False} == ask(state, "start")
        assert started["pid"] == ask(state, "status")["pid"]
    finally:
        stopped = ask(state, "stop")
    assert stopped == {"stopped": True, "pid": started["pid"]}
    assert ask(state, "stop") == {"stopped": False, "pid": None}
    assert ctl(state).returncode == 3


def test_start_where_a_socket_is_given(tmp_path: Path) -> None:
    """A daemon started with `--socket` listens there."""
    given = ["--socket", str(tmp_path / "here.sock")]
    started = ask(tmp_path / "state", *given, "start")
    try:
        assert str(tmp_path / "here.sock") == started["socket"]
        assert started["pid"] == ask(tmp_path / "state", *given, "status")["pid"]
    finally:
        ctl(tmp_path / "state", *given, "stop")


def test_run_starts_a_daemon_if_wanted(tmp_path: Path) -> None:
    """With REFLEXIOND_AUTOSTART=1 a failed command is reported to a daemon started for it."""
    env = {**os.environ, "REFLEXIOND_AUTOSTART": "1"}
    done = ctl(tmp_path / "state", "run", "--", "false", env=env)
    try:
        assert done.returncode == 1
        assert "reported as job" in done.stderr
    finally:
        ctl(tmp_path / "state", "stop")


def test_bad_setting(tmp_path: Path) -> None:
    """A setting with a bad value ends with 2 and names the variable."""
    env = {**os.environ, "REFLEXIOND_AUTOSTART": "perhaps"}
    done = ctl(tmp_path, "status", env=env)
    assert done.returncode == 2
    assert "REFLEXIOND_AUTOSTART" in done.stderr
    assert len(done.stderr.splitlines()) == 1
