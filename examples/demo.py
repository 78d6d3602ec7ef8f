"""The whole journey on a private daemon: a real failure goes in, the right lesson comes back.

Run by `make demo`. Needs no key and no network, writes to a temporary folder only, and
leaves nothing running.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
WAIT_S = 30.0

TASK = "make discounted prices in the cart round to whole cents"
SIMILAR = "the total is one cent off after a coupon is applied, fix the rounding of prices"
UNRELATED = "translate the onboarding guide into Spanish"


def main() -> int:
    """Run the demo; return 0 when every step showed what it should."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="reflexion-demo-") as folder:
        env = private_environment(Path(folder))
        say("1. Start a private daemon; its state lives in a temporary folder.")
        show(["reflexionctl", "start"], env)
        try:
            journey(env)
        finally:
            say("7. Stop the daemon. Nothing is left running.")
            show(["reflexionctl", "stop"], env)
    say(f"Done in {time.monotonic() - started:.1f} s.")
    return 0


def journey(env: dict[str, str]) -> None:
    """Steps 2 to 6."""
    say("2. An agent runs the tests of a small shop, and they fail. `reflexionctl run` passes")
    say("   everything through untouched, reports the failure, and judges it at once.", gap=False)
    pytest = ["python", "-m", "pytest", "-q", "examples/shop"]
    code = show(["reflexionctl", "run", "--task", TASK, "--", *pytest], env)
    expect(code == 1, f"the exit code of pytest (1) should come through, got {code}")

    say("3. Wait for the daemon to distil the failure into a lesson.")
    lesson = wait_for_lesson(env)
    show(["reflexionctl", "lessons", "show", lesson], env)

    say("4. Later, another agent has a similar task, in other words. What does it get?")
    found = show(["reflexionctl", "recall", SIMILAR], env, keep=True)
    expect("## Long-term Memory" in found, "the lesson should be recalled")

    say("5. And for a task that has nothing to do with it?")
    found = show(["reflexionctl", "recall", UNRELATED], env, keep=True)
    expect(found.strip() == "", "an unrelated task should get silence")
    print("   (nothing: silence costs no tokens and misleads nobody)")

    say("6. The operator's view.")
    show(["reflexionctl", "status"], env)
    show(["reflexionctl", "history"], env)


def private_environment(folder: Path) -> dict[str, str]:
    """Return an environment whose daemon, settings and home are its own."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("REFLEXIOND_", "CHATCLI_", "XDG_", "PYTEST_"))
    }
    env["HOME"] = str(folder)
    env["REFLEXIOND_STATE_DIR"] = str(folder / "state")
    env["PATH"] = f"{BIN}{os.pathsep}{env.get('PATH', '')}"
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["PYTEST_ADDOPTS"] = "-p no:cacheprovider -p no:asyncio"
    env["COLUMNS"] = "100"
    return env


def say(text: str, *, gap: bool = True) -> None:
    """Print a line of the story."""
    print(f"\n{text}" if gap else text, flush=True)


def show(command: list[str], env: dict[str, str], *, keep: bool = False) -> str | int:
    """Run a command as a user would; return its exit code, or with `keep` its output."""
    words = [f'"{word}"' if " " in word else word for word in command]
    print(f"   $ {' '.join(words)}", flush=True)
    done = subprocess.run(
        command, env=env, cwd=HERE.parent, text=True, stdout=subprocess.PIPE if keep else None
    )
    if keep:
        print(done.stdout, end="", flush=True)
        return done.stdout
    return done.returncode


def wait_for_lesson(env: dict[str, str]) -> str:
    """Return the id of the first lesson once there is one."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        listed = subprocess.run(
            ["reflexionctl", "lessons", "list", "--json"],
            env=env, text=True, capture_output=True, check=True,
        )
        lessons = json.loads(listed.stdout)["lessons"]
        if lessons:
            return lessons[0]["id"]
        time.sleep(0.1)
    raise SystemExit(f"demo: no lesson within {WAIT_S:g} s")


def expect(truth: bool, otherwise: str) -> None:
    """Stop the demo when a step did not show what it should."""
    if not truth:
        raise SystemExit(f"demo: {otherwise}")


if __name__ == "__main__":
    sys.exit(main())
