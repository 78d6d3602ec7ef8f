"""Every verb of reflexionctl against a fake daemon: what it asks, prints and returns."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from cli_fake import JOB, LESSON, STATUS, Fake, running

from reflexion_client.errors import (
    AmbiguousId,
    CallTimeout,
    ConfigError,
    ConnectionLost,
    DaemonUnreachable,
    NotFound,
)
from reflexionctl.__main__ import explain, main
from reflexionctl.daemon import Departure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    """Return a fake daemon."""
    with running(tmp_path) as daemon:
        yield daemon


class Ctl:
    """Runs commands against the fake daemon, in this process."""

    def __init__(self, fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
        self._fake, self._capsys = fake, capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Return what a command printed on stdout; its exit code must be `code`."""
        with pytest.raises(SystemExit) as ended:
            main(["--socket", str(self._fake.socket), *arguments])
        out, self.err = self._capsys.readouterr()
        assert code == ended.value.code, self.err
        return out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def ctl(fake: Fake, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """Return a runner of commands."""
    return Ctl(fake, capsys)


def test_status_is_the_default(ctl: Ctl) -> None:
    """Without a command the status is shown."""
    assert ctl("status") == ctl()
    assert "queue        3 pending, 0 parked, 1 running, 2 dead" in ctl().splitlines()


def test_status_tells_trouble(ctl: Ctl, fake: Fake) -> None:
    """A problem and a pause stand near the top."""
    fake.answers["status"] = {**STATUS, "problem": "disk full", "paused": "no key"}
    lines = ctl("status").splitlines()
    assert ["problem      disk full", "paused       no key"] == lines[1:3]


def test_json_before_and_after_the_verb(ctl: Ctl) -> None:
    """`--json` is accepted on either side of the verb and prints the daemon's own document."""
    assert STATUS == json.loads(ctl("--json", "status")) == ctl.json("status")
    assert STATUS == json.loads(ctl("--json"))


def test_json_is_not_escaped(ctl: Ctl, fake: Fake) -> None:
    """Characters beyond ASCII are printed as themselves."""
    fake.answers["config"] = {"settings": [], "file": "/\N{SNOWMAN}"}
    assert "\N{SNOWMAN}" in ctl("config", "--json")


def test_list_when_empty(ctl: Ctl) -> None:
    """An empty list prints nothing on stdout, a note on stderr, and is a success."""
    assert ctl("list") == ""
    assert ctl.err == "reflexionctl: no job waits\n"
    assert {"jobs": [], "next": None, "total": 0} == ctl.json("list")


def test_rows_are_whole_when_piped(ctl: Ctl, fake: Fake) -> None:
    """Piped rows are neither cut nor wrapped, hold no tab, and cannot steer a terminal."""
    task = "a\tlong\n\x1b[31mtask " + "x" * 180
    fake.answers["jobs.failed"] = {"jobs": [{**JOB, "task": task}], "next": None, "total": 1}
    title, row = ctl("failed").splitlines()
    assert title.split() == ["ID", "DIED", "TRIGGER", "ATTEMPTS", "TASK", "REASON"]
    assert f"a long [31mtask {'x' * 180}  5 attempts failed" in row
    assert "2023-11-14T22:15:00Z" in row


def test_more_rows_are_announced(ctl: Ctl, fake: Fake) -> None:
    """When rows are left out, stderr says how to go on."""
    fake.answers["jobs.failed"] = {"jobs": [JOB], "next": 17, "total": 9}
    ctl("failed", "--limit", "1", "--after", "30")
    assert ctl.err == "reflexionctl: 1 of 9 shown; go on with --after 17\n"
    assert {"limit": 1, "after": 30} == fake.params("jobs.failed")


def test_history(ctl: Ctl) -> None:
    """Ended jobs are listed with what became of them and the lesson they left."""
    assert "success  error    1         42      run the tests" in ctl("history")


def test_show_a_job(ctl: Ctl) -> None:
    """A job is shown in full, harmless to the terminal."""
    out = ctl("show", "3fa9")
    assert "last error  no space left" in out
    assert "attempt\n  ran `make`\n  boom\n" in out
    assert "failed attempts\n  2023-11-14T22:15:00Z  5: no space left\n" in out
    assert "\x1b" not in out


def test_show_falls_back_to_a_lesson(ctl: Ctl, fake: Fake) -> None:
    """An id that no job has is looked for among the lessons; the document keeps its shape."""
    fake.answers["jobs.show"] = NotFound("no job")
    assert {"job": None, "failures": [], "history": [], "lesson": LESSON} == ctl.json("show", "42")
    assert "correction  make fixtures first" in ctl("show", "42")


def test_show_nothing(ctl: Ctl, fake: Fake) -> None:
    """An id that nothing has is an error of one line and exit code 1."""
    fake.answers["jobs.show"] = fake.answers["lessons.show"] = NotFound("no such thing")
    ctl("show", "ffff", code=1)
    assert ctl.err == "reflexionctl: no job or lesson has the id ffff\n"


def test_ambiguous_prefix(ctl: Ctl, fake: Fake) -> None:
    """A prefix of several ids is an error that names some of them."""
    fake.answers["jobs.show"] = AmbiguousId("3 fits more than one", {"matches": ["3a", "3b"]})
    ctl("show", "3", code=1)
    assert ctl.err == "reflexionctl: 3 fits more than one (3a, 3b); give more digits\n"


@pytest.mark.parametrize("verb", ["retry", "purge"])
@pytest.mark.parametrize("arguments", [[], ["3fa9", "--all"]])
def test_one_or_all(ctl: Ctl, verb: str, arguments: list[str]) -> None:
    """`retry` and `purge` want an id or --all, and not both."""
    ctl(verb, *arguments, code=2)
    assert "give either an ID or --all" in ctl.err


def test_retry(ctl: Ctl, fake: Fake) -> None:
    """One dead job, or all of them, go back into the queue."""
    assert f"job {JOB['id']} moved back into the queue\n" == ctl("retry", "3fa9")
    assert {"id": "3fa9"} == fake.params("jobs.retry")
    fake.answers["jobs.retry"] = {"retried": 0, "ids": []}
    assert ctl("retry", "--all") == "0 jobs moved back into the queue\n"
    assert {"all": True} == fake.params("jobs.retry")


def test_purge_refuses_without_a_terminal(ctl: Ctl, fake: Fake) -> None:
    """What cannot be undone is not done where nobody can be asked, unless --yes says so."""
    ctl("purge", "--all", code=2)
    ctl("lessons", "delete", "42", code=2)
    assert [] == fake.asked
    assert f"job {JOB['id']} given up\n" == ctl("purge", "3fa9", "--yes")
    assert ctl("lessons", "delete", "42", "-y") == "lesson 42 deleted\n"


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1)])
def test_purge_asks_on_a_terminal(fake: Fake, answer: bytes, code: int) -> None:
    """On a terminal the user is asked, and a no changes nothing."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reflexionctl", "--socket", str(fake.socket), "purge", "3fa9"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        seen = os.read(ours, 1000)
        while b"[y/N]" not in seen:
            seen += os.read(ours, 1000)
        os.write(ours, answer)
        assert code == child.wait()
    os.close(ours)
    assert b"Give up dead job 3fa9 for good?" in seen
    assert (["jobs.purge"] if code == 0 else []) == [method for method, _ in fake.asked]


def test_drain(ctl: Ctl) -> None:
    """Draining says how many jobs it moved."""
    assert ctl("drain") == "2 jobs made due, 1 job admitted\n"


def test_report(ctl: Ctl, fake: Fake, tmp_path: Path) -> None:
    """A report by hand carries what was given, and says what became of it."""
    (tmp_path / "log").write_bytes(b"tried \xff")
    out = ctl(
        *("report", "--task", "t", "--attempt-file", str(tmp_path / "log"), "--outcome", "o"),
        *("--trigger", "low_quality", "--workspace", "/w", "--source", "script", "--wait", "0"),
    )
    assert f"accepted: job {JOB['id']} is pending\n" == out
    assert {
        "task": "t",
        "attempt": "tried \N{REPLACEMENT CHARACTER}",
        "outcome": "o",
        "trigger": "low_quality",
        "workspace": "/w",
        "source": "script",
        "wait_s": 0,
    } == fake.params("enqueue")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--task", "t", "--attempt", "a", "--attempt-file", "-"],
        ["--task", "t", "--attempt-file", "/no/such/file"],
        ["--task", "t", "--trigger", "boredom"],
        [],
    ],
)
def test_report_misused(ctl: Ctl, arguments: list[str]) -> None:
    """A report that makes no sense is refused in one line."""
    ctl("report", *arguments, code=2)
    assert len(ctl.err.splitlines()) == 1


def test_recall_prints_the_section(ctl: Ctl, fake: Fake) -> None:
    """The section is printed as an agent would get it."""
    lesson = {"id": "7", "score": 0.9, "situation": "s", "mistake": "m", "correction": "c"}
    section = "## Long-term Memory\n- c\n"
    fake.answers["recall"] = {"lessons": [lesson], "section": section, "mode": "x", "floor": 0.1}
    assert section == ctl("recall", "fix", "it", "--limit", "2", "--floor", "0.2")
    asked = fake.params("recall")
    assert ("fix it", 2, 0.2) == (asked["task"], asked["limit"], asked["floor"])
    assert ctl.json("recall", "fix it")["lessons"][0]["correction"] == "c"


def test_recall_of_nothing(ctl: Ctl) -> None:
    """When nothing fits, stdout stays empty and a note goes to stderr."""
    assert ctl("recall", "anything") == ""
    assert ctl.err == "reflexionctl: no lesson fits this task\n"


def test_text_from_stdin(ctl: Ctl, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lone dash reads the text from standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from\nstdin")))
    assert ctl("reflect", "-") == "lesson 42 stored\n"
    assert fake.params("lessons.remember")["text"] == "from\nstdin"


def test_lessons(ctl: Ctl) -> None:
    """`lessons` alone lists them, with `--json` in any place."""
    assert ctl("lessons") == ctl("lessons", "list")
    assert (
        ctl.json("lessons") == ctl.json("lessons", "list") == json.loads(ctl("--json", "lessons"))
    )
    assert {"lesson": LESSON} == json.loads(ctl("lessons", "--json", "show", "42"))
    assert "seen        2 times, last 2023-11-14T22:18:20Z" in ctl("lessons", "show", "42")


def test_config(ctl: Ctl) -> None:
    """Settings are listed, one is shown in full, and an unknown one brings the nearest name."""
    assert "queue.workers  2      default" in ctl("config").splitlines()
    assert "names    REFLEXIOND_QUEUE_WORKERS" in ctl("config", "queue.workers")
    assert ctl("config", "REFLEXIOND_QUEUE_WORKERS") == ctl("config", "queue.workers")
    ctl("config", "queue.wokers", code=2)
    assert "did you mean queue.workers?" in ctl.err


def test_start_when_one_runs(ctl: Ctl, fake: Fake) -> None:
    """Starting a daemon that runs already is a success and says so."""
    assert f"reflexiond 0.1.0 runs already (pid 4242, socket {fake.socket})\n" == ctl("start")


def test_stop_when_none_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Stopping a daemon that does not run is a success and says so."""
    with pytest.raises(SystemExit) as ended:
        main(["--state-dir", str(tmp_path), "stop"])
    assert (0, "no daemon runs\n") == (ended.value.code, capsys.readouterr().out)


@pytest.mark.parametrize("verb", ["status", "list", "drain", "recall x", "config", "lessons"])
def test_no_daemon(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """Without a daemon a command ends with 3 and one line that says how to start it."""
    with pytest.raises(SystemExit) as ended:
        main(["--state-dir", str(tmp_path), *verb.split()])
    out, err = capsys.readouterr()
    assert (3, "") == (ended.value.code, out)
    assert err.startswith("reflexionctl: no daemon answers at ")
    assert err.endswith("start it with `reflexionctl start`, or set REFLEXIOND_AUTOSTART=1\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (NotFound("gone"), 1, "gone"),
        (ConfigError("bad value"), 2, "bad value"),
        (DaemonUnreachable("nobody"), 3, f"nobody; {DaemonUnreachable.hint}"),
        (CallTimeout("late"), 4, "late; see whether `reflexionctl status` answers"),
        (ConnectionLost("cut"), 1, f"cut; {ConnectionLost.hint}"),
    ],
)
def test_explain(error: Exception, code: int, line: str) -> None:
    """Every error has its exit code and one line: what happened, and what to do."""
    assert (code, line) == explain(error)


def test_bug_is_no_traceback(ctl: Ctl, fake: Fake) -> None:
    """A bug of ours is one line too, and says how to see more."""
    fake.answers["jobs.drain"] = {}
    ctl("drain", code=70)
    assert ctl.err.startswith(
        "reflexionctl: internal error: KeyError: 'due'; set REFLEXIONCTL_DEBUG=1"
    )


@pytest.mark.parametrize("arguments", [["bogus"], ["--bogus"], ["run"], ["list", "--limit", "0"]])
def test_misuse(ctl: Ctl, arguments: list[str]) -> None:
    """A command line that makes no sense is one line, with where to read more, and 2."""
    assert ctl(*arguments, code=2) == ""
    assert ctl.err.startswith("reflexionctl: ")
    assert ctl.err.endswith("--help`\n")
    assert len(ctl.err.splitlines()) == 1


def test_reader_that_leaves(fake: Fake) -> None:
    """A closed pipe ends a command quietly, as `head` users expect."""
    command = [sys.executable, "-m", "reflexionctl", "--socket", str(fake.socket), "failed"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (141, b"") == (done.returncode, done.stderr)


@pytest.mark.parametrize("arguments", [["status", "--json"], ["status"], ["run", "--", "true"]])
def test_frequent_commands_start_lean(fake: Fake, arguments: list[str]) -> None:
    """What is called all the time loads neither pydantic nor rich nor asyncio."""
    code = f"""
import atexit, sys
from reflexionctl.__main__ import main
heavy = lambda: sorted({{"pydantic", "rich", "asyncio"}} & set(sys.modules))
atexit.register(lambda: print(heavy(), file=sys.stderr))
main({["--socket", str(fake.socket), *arguments]!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (0, b"[]\n") == (done.returncode, done.stderr)


def test_departure_of_a_process() -> None:
    """A process that has ended counts as gone, even while nobody has reaped it."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        gone = Departure(child.pid)
        assert not gone.wait(0)
        assert child.stdin is not None
        child.stdin.close()
        assert gone.wait(10)
        gone.close()


def complete(fake: Fake, line: str, shell: str) -> str:
    """Return what a shell is told to offer at the end of a line."""
    words = line.replace("CTL", f"reflexionctl --socket {fake.socket}")
    env = {
        **os.environ,
        "_REFLEXIONCTL_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    code = (
        "import sys; sys.argv[0] = 'reflexionctl'; from reflexionctl.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("verb", ["retry", "purge"])
def test_completion_of_dead_jobs(fake: Fake, verb: str) -> None:
    """Dead jobs are offered with a preview of the task and the last error."""
    offered = complete(fake, f"CTL {verb} 3f", "fish")
    assert f"{JOB['id']}\tbuild bold the 31m image \N{EM DASH} no space left\n" == offered


def test_completion_of_anything(fake: Fake) -> None:
    """`show` offers jobs, ended jobs and lessons."""
    offered = complete(fake, "CTL show ", "bash").split()
    assert {JOB["id"], "aa00000000000001", "42"} == set(offered)


def test_completion_runs_no_code(fake: Fake) -> None:
    """What a tool printed is never evaluated by the shell that completes."""
    evil = {**JOB, "task": r"\$(touch /x) `id` \" ' ] ; : \\"}
    fake.answers["jobs.failed"] = {"jobs": [evil], "next": None, "total": 1}
    offered = complete(fake, "CTL retry ", "zsh")
    assert JOB["id"] in offered
    assert not set(offered.partition('":"')[2].partition('"')[0]) & set("$`\\'")


def test_completion_is_silent_without_a_daemon(fake: Fake, tmp_path: Path) -> None:
    """Without a daemon nothing is offered and nothing is said."""
    fake.socket = tmp_path / "nobody.sock"
    assert complete(fake, "CTL retry ", "bash").strip() == ""
