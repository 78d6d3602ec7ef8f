"""Every command and every program that the README shows is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import RunningDaemon

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    lines = "\n".join(blocks("console")).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def environment(state_dir: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "REFLEXIOND_STATE_DIR": str(state_dir),
        "REFLEXIOND_EMBED_MODEL": "off",
    }


def test_the_make_targets_exist() -> None:
    """`make demo`, `make test` and `make venv` are real targets; make itself says so."""
    shown = [command for command in commands() if command.startswith("make ")]
    assert {"make demo", "make test", "make venv"} == set(shown)
    for command in shown:
        subprocess.run([*command.split(), "-n"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.timeout(120)
def test_every_command_runs_in_the_order_shown(tmp_path: Path) -> None:
    """All exit with 0 on a fresh state folder, and the last one stops the daemon."""
    env = environment(tmp_path / "state")
    shown = [command for command in commands() if not command.startswith("make ")]
    assert "reflexionctl stop" == shown[-1]
    try:
        for command in shown:
            done = subprocess.run(  # noqa: S602 - as a reader types it
                command.replace(".venv/bin/", ""),
                shell=True,
                check=False,
                env=env,
                cwd=tmp_path,
                text=True,
                capture_output=True,
                timeout=60,
            )
            assert 0 == done.returncode, f"{command}: {done.stderr}"
    finally:
        subprocess.run(["reflexionctl", "stop"], env=env, check=False, capture_output=True)
    assert not (tmp_path / "state" / "daemon.json").exists()


@pytest.mark.parametrize("source", ["README.md", "client/README.md"])
def test_the_programs_run(source: str, daemon: RunningDaemon, tmp_path: Path) -> None:
    """The Python shown works as it stands, warnings being errors."""
    env = environment(daemon.state_dir)
    for program in blocks("python", (ROOT / source).read_text("utf-8")):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            check=False,
            env=env,
            cwd=tmp_path,
            text=True,
            capture_output=True,
            timeout=60,
        )
        assert 0 == done.returncode, done.stderr


@pytest.mark.timeout(120)
def test_the_demo_shows_every_step_and_leaves_nothing(tmp_path: Path) -> None:
    """`make demo` (its program) ends well, recalls the lesson, and stays silent when it should."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "examples" / "demo.py")],
        check=False,
        text=True,
        capture_output=True,
        timeout=110,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "## Long-term Memory" in done.stdout
    assert "(nothing: silence" in done.stdout
    assert [] == list(tmp_path.glob("reflexion-demo-*"))
