"""`reflexionctl run`: the command's streams, signals and exit code are its own."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

import pytest
from cli_fake import JOB, Fake, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CTL = [sys.executable, "-m", "reflexionctl"]
SCRIPT = [sys.executable, "-c"]

LESSON = {
    "id": "7",
    "score": 0.9,
    "situation": "s",
    "mistake": "m",
    "correction": "c",
    "trigger": "error",
    "tags": [],
    "workspace": "",
    "source": "",
    "key": "",
}


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    """Return a fake daemon."""
    with running(tmp_path) as daemon:
        yield daemon


def nobody(tmp_path: Path) -> list[str]:
    """Return the command line of a user for whom no daemon runs."""
    return [*CTL, "--state-dir", str(tmp_path), "run", "--"]


def asking(fake: Fake, *options: str) -> list[str]:
    return [*CTL, "--socket", str(fake.socket), "run", *options, "--"]


def finish(command: list[str], **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, check=False, **more)  # type: ignore[call-overload, no-any-return]


@contextmanager
def started(command: list[str], **more: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a session of its own, of which nothing outlives the test."""
    child = subprocess.Popen(command, start_new_session=True, **more)  # type: ignore[call-overload]
    with child:
        try:
            yield child
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def test_success_is_silent(tmp_path: Path) -> None:
    """A command that succeeds leaves only its own output, and no daemon is missed."""
    done = finish([*nobody(tmp_path), "sh", "-c", "echo out; echo err >&2"])
    assert (0, b"out\n", b"err\n") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 3", 3), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)],
)
def test_exit_code(tmp_path: Path, script: str, code: int) -> None:
    """The exit code is the command's, or 128 and the number of the signal that killed it."""
    assert code == finish([*nobody(tmp_path), "sh", "-c", script]).returncode


def test_not_found(tmp_path: Path) -> None:
    """A command that does not exist gives 127, as in a shell, and says so."""
    done = finish([*nobody(tmp_path), "no-such-command-here"])
    assert 127 == done.returncode
    assert b"reflexionctl: command not found: no-such-command-here\n" in done.stderr
    assert b"" == done.stdout


def test_not_executable(tmp_path: Path) -> None:
    """A file that cannot be executed gives 126, as in a shell."""
    (tmp_path / "plain").write_text("hello")
    done = finish([*nobody(tmp_path), str(tmp_path / "plain")])
    assert 126 == done.returncode
    assert b"Permission denied" in done.stderr


def test_options_after_the_command_are_its_own(tmp_path: Path) -> None:
    """Nothing after the command is read as an option of ours, not even another `--`."""
    done = finish([*nobody(tmp_path), *SCRIPT, "import sys; print(sys.argv[1:])", "--json", "--"])
    assert b"['--json', '--']\n" == done.stdout


def test_bytes_pass_through_exactly(tmp_path: Path) -> None:
    """Megabytes of arbitrary bytes on both streams arrive as they were written."""
    script = """
import hashlib, random, os
data = random.Random(1).randbytes(3_000_001)
os.write(2, b"") or [os.write(1, data[i:i + 9999]) and os.write(2, data[i:i + 777])
 for i in range(0, len(data), 9999)]
"""
    expected = finish([*SCRIPT, script])
    done = finish([*nobody(tmp_path), *SCRIPT, script])
    assert 3_000_001 == len(done.stdout)
    assert digest(expected.stdout) == digest(done.stdout)
    assert digest(expected.stderr) == digest(done.stderr)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_output_is_not_held_back(tmp_path: Path) -> None:
    """What the command prints is there at once, without a newline and before it ends."""
    script = "import sys; sys.stdout.write('name? '); sys.stdout.flush(); print(input())"
    with started(
        [*nobody(tmp_path), *SCRIPT, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert b"name? " == os.read(child.stdout.fileno(), 100)
        child.stdin.write(b"Ada\n")
        child.stdin.close()
        assert b"Ada\n" == child.stdout.read()


def test_stdin_passes_through(tmp_path: Path) -> None:
    """The command reads our standard input, byte for byte to its end."""
    data = bytes(range(256)) * 8000
    assert data == finish([*nobody(tmp_path), "cat"], input=data).stdout


def test_order_is_exact_on_a_shared_stream(tmp_path: Path) -> None:
    """Where stdout and stderr lead to the same place, their lines keep their order."""
    script = "for i in $(seq 300); do echo out $i; echo err $i >&2; done"
    done = subprocess.run(
        [*nobody(tmp_path), "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    expected = [f"{name} {i}" for i in range(1, 301) for name in ("out", "err")]
    assert expected == done.stdout.decode().splitlines()


def test_reader_that_leaves(tmp_path: Path) -> None:
    """When nobody reads our output any more, the command learns of it as without us."""
    with started([*nobody(tmp_path), "yes"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert b"y\n" == child.stdout.readline()
        child.stdout.close()
        assert 128 + signal.SIGPIPE == child.wait()


def test_left_behind_process_does_not_hold_us(tmp_path: Path) -> None:
    """A process that the command leaves in the background does not keep us from returning."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = f"(echo pid; exec cat {fifo}) & echo done"
    with started([*nobody(tmp_path), "sh", "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert 0 == child.wait()
        assert b"done" in child.stdout.read()
        fifo.write_bytes(b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_reach_the_command(tmp_path: Path, number: signal.Signals) -> None:
    """A signal sent to us reaches the command, once, and its answer is our exit code."""
    script = f"""
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [{int(number)}])
print("ready", flush=True)
signal.sigwait([{int(number)}])
sys.exit(41 if signal.sigtimedwait([{int(number)}], 0.2) is None else 42)
"""
    with started(
        [*nobody(tmp_path), *SCRIPT, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdout is not None
        assert b"ready\n" == child.stdout.readline()
        child.send_signal(number)
        assert 41 == child.wait()


def test_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """A command below `nohup` ignores a hang-up with us as without us."""
    script = "import signal, sys; sys.exit(signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)"
    command = [*nobody(tmp_path), *SCRIPT, script]
    assert 0 == finish(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command]).returncode


def test_no_signal_is_blocked_in_the_command(tmp_path: Path) -> None:
    """The command starts with no signal blocked."""
    script = "import signal, sys; sys.exit(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    assert 0 == finish([*nobody(tmp_path), *SCRIPT, script]).returncode


class Terminal:
    """A terminal with a command in its foreground."""

    def __init__(self, command: list[str], size: tuple[int, int] = (24, 80)) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)  # noqa: S606 - no shell is wanted
        termios.tcsetwinsize(self.master, size)
        self.seen = b""

    def until(self, text: bytes) -> bytes:
        """Read until `text` has been printed."""
        while text not in self.seen and self._more():
            pass
        assert text in self.seen
        return self.seen

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self.master)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def end(self) -> tuple[int, bytes]:
        """Return the exit code, and all that was printed."""
        while self._more():
            pass
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), self.seen

    def _more(self) -> bool:
        select.select([self.master], [], [])
        try:
            data = os.read(self.master, 65_536)
        except OSError:
            return False
        self.seen += data
        return bool(data)


def test_command_sees_a_terminal(tmp_path: Path) -> None:
    """On a terminal the command sees one on all three streams, and lines end as they should."""
    script = "import os; print([os.isatty(n) for n in range(3)])"
    with Terminal([*nobody(tmp_path), *SCRIPT, script]) as terminal:
        code, seen = terminal.end()
    assert (0, b"[True, True, True]\r\n") == (code, seen)


def test_command_sees_the_size_of_the_terminal(tmp_path: Path) -> None:
    """The command's terminal has the size of ours, and follows when that changes."""
    script = """
import os, signal
signal.signal(signal.SIGWINCH, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("ready", flush=True)
while tuple(os.get_terminal_size(1)) != (133, 41):
    signal.sigwait([signal.SIGWINCH])
print("resized")
"""
    with Terminal([*nobody(tmp_path), *SCRIPT, script]) as terminal:
        terminal.until(b"ready")
        termios.tcsetwinsize(terminal.master, (41, 133))
        code, seen = terminal.end()
    assert (0, True) == (code, seen.endswith(b"resized\r\n"))


def test_ctrl_c_arrives_once(tmp_path: Path) -> None:
    """Ctrl-C on a terminal reaches the command from the terminal, not also from us."""
    # Two signals at once may arrive as one, so a single try would prove little.
    script = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
from_us = 0
for number in range(20):
    print("ready", number, flush=True)
    from_us += signal.sigwaitinfo([signal.SIGINT]).si_pid != 0
from_us += signal.sigtimedwait([signal.SIGINT], 0.2) is not None
print("from us:", from_us, flush=True)
"""
    with Terminal([*nobody(tmp_path), *SCRIPT, script]) as terminal:
        for number in range(20):
            terminal.until(f"ready {number}\r\n".encode())
            os.write(terminal.master, b"\x03")
        code, seen = terminal.end()
    assert (0, True) == (code, seen.endswith(b"from us: 0\r\n"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who sent a signal")
def test_a_signal_tells_who_sent_it() -> None:
    """A signal of the kernel has gone to the whole group already; one of a process has not."""
    script = """
import os, signal
from reflexionctl.signals import _next_signal
watched = {signal.SIGVTALRM, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, watched)
os.kill(os.getpid(), signal.SIGUSR1)
print(_next_signal(watched) == (signal.SIGUSR1, False))
signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
while signal.SIGVTALRM not in signal.sigpending():
    pass
print(_next_signal(watched) == (signal.SIGVTALRM, True))
"""
    assert b"True\nTrue\n" == finish([*SCRIPT, script]).stdout


def test_ctrl_c_is_no_failure(tmp_path: Path) -> None:
    """A command that its user stopped is not reported: nothing is to be learned from it."""
    with Terminal([*nobody(tmp_path), "sh", "-c", "echo ready; exec sleep 60"]) as terminal:
        terminal.until(b"ready")
        os.write(terminal.master, b"\x03")
        code, seen = terminal.end()
    assert 130 == code
    assert b"reflexionctl" not in seen


def test_no_daemon(tmp_path: Path) -> None:
    """Without a daemon one line says that the failure was not reported, and what to do."""
    done = finish([*nobody(tmp_path), "sh", "-c", "echo out; exit 9"])
    assert (9, b"out\n") == (done.returncode, done.stdout)
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("reflexionctl: the failure was not reported: no daemon answers at ")
    assert "`reflexionctl start`" in last


def test_failure_is_reported(fake: Fake) -> None:
    """A failure is reported with what was run, what it printed and how it ended."""
    script = "echo building; echo 'make: *** no rule' >&2; exit 2"
    done = finish([*asking(fake, "--task", "build it"), "sh", "-c", script])
    assert (2, b"building\n") == (done.returncode, done.stdout)
    told = fake.params("enqueue")
    assert ("build it", "ERROR: exit status 2", "error", "reflexionctl run", 0) == (
        told["task"],
        told["outcome"],
        told["trigger"],
        told["source"],
        told["wait_s"],
    )
    assert told["attempt"].startswith("ran `sh -c ")
    assert {"building", "make: *** no rule"} <= set(told["attempt"].splitlines())
    assert f"reported as job {JOB['id']}" in done.stderr.decode()


def test_task_defaults_to_the_command(fake: Fake) -> None:
    """Without a task it is the command and what went wrong, which tells it from its kin."""
    finish([*asking(fake), "false"])
    assert "false: exit status 1" == fake.params("enqueue")["task"]


def test_known_lessons_are_told(fake: Fake) -> None:
    """What is known of such a failure is asked before it is reported, and told on stderr."""
    section = "## Long-term Memory\n- make the fixtures first\n"
    fake.answers["recall"] = {"lessons": [LESSON], "section": section, "mode": "", "floor": 0.1}
    done = finish([*asking(fake), "false"])
    assert b"- make the fixtures first\n" in done.stderr
    assert b"" == done.stdout
    assert ["recall", "enqueue"] == [method for method, _ in fake.asked]


def test_json_goes_to_stderr(fake: Fake) -> None:
    """With --json the findings are one line of JSON on stderr; stdout stays the command's."""
    done = finish([*asking(fake, "--json"), "sh", "-c", "echo out; exit 4"])
    assert b"out\n" == done.stdout
    document = json.loads(done.stderr)
    assert (4, JOB["id"], []) == (
        document["exit_code"],
        document["report"]["id"],
        document["lessons"],
    )


def test_long_output_is_cut_in_the_middle(fake: Fake) -> None:
    """Of a long output the report holds the beginning and the end."""
    script = "import sys; print('first'); print('x' * 2_000_000); print('last'); sys.exit(1)"
    finish([*asking(fake), *SCRIPT, script])
    attempt = fake.params("enqueue")["attempt"]
    assert 300_000 > len(attempt)
    assert "\nfirst\n" in attempt
    assert attempt.endswith("last\n")
    assert "bytes left out" in attempt


def test_success_does_not_connect(fake: Fake) -> None:
    """A command that succeeds is not even mentioned to the daemon."""
    finish([*asking(fake), "true"])
    assert [] == fake.asked
