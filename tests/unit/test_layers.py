"""The arrows of docs/architecture.md, read from the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOUNS = {"model", "errors", "events", "clock"}

# What each part of the daemon may import of the daemon, itself aside.
MAY_IMPORT = {
    "model": set[str](),
    "errors": set(),
    "events": set(),
    "clock": set(),
    "settings": set(),
    "store": {"model", "errors", "events"},
    "queue": NOUNS | {"store"},
    "memory": NOUNS | {"store"},
    "distil": NOUNS | {"store"},
    "rpc": NOUNS | {"store", "queue", "memory", "distil"},
    "observe": {"events"},
    "platform": {"errors"},
}
# The composition root and what it composes with may import everything.
ROOTS = {"daemon", "learn", "__main__", "__init__"}
# The engine behind the port is chosen by the composition root alone.
ENGINE = "reflexiond.store.sqlite"


def imports(file: Path) -> Iterator[str]:
    """Yield the full name of everything that a module imports, wherever it does."""
    name = ".".join(file.relative_to(package_root(file)).with_suffix("").parts)
    package = name.removesuffix(".__init__") if file.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def package_root(file: Path) -> Path:
    return ROOT / "client" if file.is_relative_to(ROOT / "client") else ROOT


def modules(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.py"))
    assert found
    return found


def layer(name: str) -> str:
    """Return the part of the daemon that a module belongs to."""
    return name.split(".")[1]


def inside(file: Path) -> list[str]:
    return [name for name in imports(file) if name.startswith("reflexiond.")]


DAEMON = modules(ROOT / "reflexiond")
CLIENT = modules(ROOT / "client" / "reflexion_client")


def named(file: Path) -> str:
    return str(file.relative_to(package_root(file)))


def test_imports_are_read_in_full() -> None:
    """The reader itself sees absolute, relative and late imports."""
    aio = set(imports(ROOT / "client" / "reflexion_client" / "aio.py"))
    assert {"asyncio", "reflexion_client.wire", "reflexion_client.autostart.start"} <= aio
    workers = set(imports(ROOT / "reflexiond" / "queue" / "workers.py"))
    assert {"reflexiond.store.port.QueueStore", "reflexiond.queue.outcome.judge"} <= workers


def test_every_part_has_its_arrows() -> None:
    """A new part of the daemon is given its place in the table."""
    parts = {file.relative_to(ROOT / "reflexiond").parts[0].removesuffix(".py") for file in DAEMON}
    assert parts == MAY_IMPORT.keys() | ROOTS


@pytest.mark.parametrize("file", DAEMON, ids=named)
def test_arrows_point_down(file: Path) -> None:
    """A module imports its own part and those that the table allows."""
    part = file.relative_to(ROOT / "reflexiond").parts[0].removesuffix(".py")
    if part in ROOTS:
        return
    used = {layer(name) for name in inside(file)} - {part}
    assert set() == used - MAY_IMPORT[part]


@pytest.mark.parametrize("file", DAEMON, ids=named)
def test_the_engine_stays_behind_its_port(file: Path) -> None:
    """Only the composition root knows which engine stores."""
    if file.is_relative_to(ROOT / "reflexiond" / "store") or file.stem == "daemon":
        return
    assert [] == [name for name in inside(file) if name.startswith(ENGINE)]


@pytest.mark.parametrize("file", CLIENT, ids=named)
def test_the_client_needs_msgpack_only(file: Path) -> None:
    """It imports itself, the standard library and msgpack, and nothing of the daemon."""
    allowed = sys.stdlib_module_names | {"msgpack", "reflexion_client", "__future__"}
    assert set() == {name.split(".")[0] for name in imports(file)} - allowed


PURE = modules(ROOT / "client" / "reflexion_client" / "reflection")
NOT_PURE = {
    *("asyncio", "fcntl", "io", "logging", "multiprocessing", "os", "pathlib", "random", "select"),
    *("shutil", "signal", "socket", "subprocess", "tempfile", "threading", "time", "urllib"),
}


@pytest.mark.parametrize("file", PURE, ids=named)
def test_reflection_is_pure(file: Path) -> None:
    """It imports nothing that reaches outside, and of the client only itself."""
    used = set(imports(file))
    assert set() == {name.split(".")[0] for name in used} & NOT_PURE
    own = {name for name in used if name.startswith("reflexion_client")}
    assert set() == {name for name in own if not name.startswith("reflexion_client.reflection")}


@pytest.mark.parametrize("file", modules(ROOT / "client" / "reflexionctl"), ids=named)
def test_the_command_line_is_a_client(file: Path) -> None:
    """What it knows of the daemon it is told through the client."""
    assert [] == inside(file)


def loaded_after(statement: str) -> set[str]:
    """Return the top-level names in `sys.modules` of a fresh interpreter after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_the_client_is_light() -> None:
    """A tool that imports it pays for no event loop, no codec and no command line."""
    loaded = loaded_after("import reflexion_client")
    assert "reflexion_client" in loaded
    heavy = {"asyncio", "msgpack", "typer", "rich", "reflexiond", "socket", "subprocess", "logging"}
    assert set() == loaded & heavy


def test_the_hook_needs_no_event_loop() -> None:
    """Nor does a blocking client."""
    loaded = loaded_after("from reflexion_client import Client, ReflexionHook")
    assert set() == loaded & {"asyncio", "typer", "rich", "reflexiond", "subprocess"}


def test_the_daemon_starts_without_its_models() -> None:
    """What only embedding or a language model needs is imported at the first use."""
    loaded = loaded_after("import reflexiond.daemon")
    assert "reflexiond" in loaded
    assert set() == loaded & {"onnxruntime", "numpy", "tokenizers", "openai", "typer", "rich"}
