"""Passing signals on to a running command."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen

    Resize = Callable[[], bool]

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
_FROM_THE_USER = (*_KEYBOARD, signal.SIGHUP)


class Signals:
    """Passes signals on to the child, and tells when it may have ended.

    Meanwhile they are blocked here, and a thread takes them one by one: it learns who
    sent a signal, and it works while the copying waits for a slow reader.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self.child_ended, self._tell = os.pipe()
        forwarded = [s for s in _FORWARDED if signal.getsignal(s) is not signal.SIG_IGN]
        self._watched = {*forwarded, signal.SIGCHLD, signal.SIGWINCH}
        self._early: list[int] = []
        self._before: dict[int, object] = {}
        self._thread: threading.Thread | None = None
        self._leaving = False

    def __enter__(self) -> Self:
        # Handlers first, blocking second: a blocked signal would stay blocked in the child.
        for number in self._watched:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None and self._thread.ident is not None:
            self._leaving = True
            signal.pthread_kill(self._thread.ident, signal.SIGCHLD)
            self._thread.join()
            # What came meanwhile reaches `_note` now, and so still counts.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._watched)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self.child_ended)
        os.close(self._tell)

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the command, with the keyboard or by hanging up."""
        return not self._seen.isdisjoint(_FROM_THE_USER)

    def attend(self, child: Popen[bytes], resize: Resize) -> None:
        """Start passing signals on, those first that came while the child was started.

        Args:
            child: the running command.
            resize: makes its terminals as large as ours; returns whether it has any.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
        for number in self._early:
            self._pass_on(number, child, resize, had_it=_from_keyboard(number))
        # One whose end went by before signals were blocked must not be waited for.
        os.write(self._tell, b".")
        self._thread = threading.Thread(
            target=self._attend, args=(child, resize), name="signals", daemon=True
        )
        self._thread.start()

    def _note(self, number: int, _frame: object) -> None:
        self._seen.add(number)
        self._early.append(number)

    def _attend(self, child: Popen[bytes], resize: Resize) -> None:
        while not self._leaving:
            number, had_it = _next_signal(self._watched)
            if number == signal.SIGCHLD:
                os.write(self._tell, b".")
            else:
                self._pass_on(number, child, resize, had_it=had_it)

    def _pass_on(self, number: int, child: Popen[bytes], resize: Resize, *, had_it: bool) -> None:
        self._seen.add(number)
        if number == signal.SIGCHLD:
            return
        if number == signal.SIGWINCH:
            # The child heard of it together with us, but looked at a terminal whose
            # size is only now right.
            had_it = not resize() and had_it
        if not had_it:
            child.send_signal(number)


def _next_signal(watched: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal; return it, and whether the child has received it as well.

    A signal from the terminal goes to the whole process group. A second one would look
    like a user who presses Ctrl-C twice, which many programs take as "now, and hard".
    """
    if sys.platform == "linux":
        info = signal.sigwaitinfo(watched)
        # Positive: sent by the kernel.
        return info.si_signo, info.si_code > 0
    number = signal.sigwait(watched)
    return number, _from_keyboard(number)


def _from_keyboard(number: int) -> bool:
    """Guess whether a signal came from the terminal, where its sender is not known."""
    if number not in _KEYBOARD:
        return False
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
