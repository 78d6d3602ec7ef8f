"""Commands about the daemon itself: start it, stop it, ask how it is."""

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .context import AsJson, Options, options
from .output import now_ns, print_facts, print_json, relative, say, size, span, stamp

if TYPE_CHECKING:
    from reflexion_client.sync import Client

STOP_TIMEOUT_S = 40.0
"""The daemon's default drain timeout (30 s) and time to close its store."""
_POLL_S = 0.02
_STATES = ("pending", "parked", "running", "dead")

Json = dict[str, Any]


def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show how the daemon is, and what waits, failed and was learned."""
    show_status(options(ctx, as_json=as_json))


def show_status(given: Options) -> None:
    """Print the daemon's status. Never starts a daemon: then it could only be well."""
    with given.client(workspace="", autostart=False) as client:
        answer = client.status()
    if given.as_json:
        print_json(answer)
    else:
        print_facts(overview(answer))


def start(
    ctx: typer.Context,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long to wait for it to answer.")
    ] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Start a daemon in the background; fine if one runs already."""
    from reflexion_client import autostart

    given = options(ctx, as_json=as_json)
    with given.client(workspace="", autostart=False) as client:
        address = client.address
        already = autostart.answers(address.socket())
        if not already:
            autostart.start(
                address.state_dir,
                address.socket,
                arguments=given.daemon_arguments(),
                timeout_s=timeout,
            )
        alive = client.ping()
        path = str(address.socket())
    if given.as_json:
        print_json({"started": not already, "socket": path, **alive})
    else:
        verb = "runs already" if already else "started"
        say(f"reflexiond {alive['version']} {verb} (pid {alive['pid']}, socket {path})")


def stop(
    ctx: typer.Context,
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait until it is gone.")
    ] = STOP_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Let the daemon finish what it is doing and stop it; fine if none runs."""
    from reflexion_client.errors import CallTimeout, DaemonUnreachable

    given = options(ctx, as_json=as_json)
    with given.client(workspace="", autostart=False) as client:
        try:
            pid = int(client.ping()["pid"])
        except DaemonUnreachable:
            _print_stopped(given, None)
            return
        gone = Departure(pid)
        try:
            _shutdown(client)
            if not gone.wait(timeout):
                raise CallTimeout(f"the daemon (pid {pid}) is still stopping after {timeout:g} s")
        finally:
            gone.close()
    _print_stopped(given, pid)


class Departure:
    """Waits until a process is gone; one that nobody has reaped yet counts as gone.

    Args:
        pid: the process, which must still be alive.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd: int | None = None
        # A descriptor of the process cannot be fooled by a reused pid; not every
        # system has them.
        if hasattr(os, "pidfd_open"):
            try:
                self._fd = os.pidfd_open(pid)
            except OSError:
                self._fd = None

    def wait(self, timeout_s: float) -> bool:
        """Return whether the process was gone in time."""
        if self._fd is not None:
            import select

            return bool(select.select([self._fd], [], [], timeout_s)[0])
        deadline = time.monotonic() + timeout_s
        while self._alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def close(self) -> None:
        """Release the descriptor."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _alive(self) -> bool:
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def overview(answer: Json) -> list[tuple[str, str]]:
    """Return a status as labelled lines, the most urgent first.

    What the daemon does not tell (an older or newer one) is left out.
    """
    started_at_ns, queue = answer.get("started_at_ns"), answer.get("queue", {})
    due = queue.get("next_due_at_ns")
    counters = answer.get("counters", {})
    return [
        ("reflexiond", f"{answer['version']}, {answer['state']}, pid {answer['pid']}"),
        ("problem", answer.get("problem") or ""),
        ("paused", answer.get("paused") or ""),
        ("up", f"{span(answer.get('uptime_s', 0))}, since {stamp(started_at_ns)}"),
        (
            "queue",
            _listed(
                *(f"{queue[name]} {name}" for name in _STATES if name in queue),
                f"next due {relative(due, now_ns())}" if due is not None else "",
            ),
        ),
        (
            "limits",
            _listed(
                f"capacity {queue.get('capacity')}",
                str(queue.get("policy", "")),
                f"{queue.get('workers')} workers",
                "" if queue.get("persistent", True) else "in memory only",
            ),
        ),
        ("since start", _listed(*(f"{n} {name}" for name, n in counters.items() if n))),
        ("lessons", str(answer.get("lessons", ""))),
        ("embedder", _embedder(answer.get("embedder", {}))),
        ("store", _store(answer.get("store", {}))),
        ("socket", answer.get("socket", "")),
        ("connections", str(answer.get("connections", ""))),
    ]


def _embedder(embedder: Json) -> str:
    text = _listed(*(str(embedder.get(name) or "") for name in ("id", "state")))
    return f"{text} ({embedder['reason']})" if embedder.get("reason") else text


def _store(store: Json) -> str:
    return _listed(
        str(store.get("path", "")),
        f"{size(store.get('bytes', 0))} + {size(store.get('wal_bytes', 0))} log",
        f"schema {store['schema']}" if "schema" in store else "",
        f"check {store['check']}" if store.get("check") else "",
    )


def _listed(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _shutdown(client: "Client") -> None:
    from reflexion_client.errors import ConnectionLost, Stopping

    try:
        client.shutdown()
    except (Stopping, ConnectionLost):
        # It is on its way out already: that is all we want.
        return


def _print_stopped(given: Options, pid: int | None) -> None:
    if given.as_json:
        print_json({"stopped": pid is not None, "pid": pid})
    elif pid is None:
        say("no daemon runs")
    else:
        say(f"reflexiond stopped (pid {pid})")
