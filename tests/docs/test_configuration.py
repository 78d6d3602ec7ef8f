"""docs/configuration.md agrees with the table of settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reflexion_client.config import Setting
from reflexion_client.errors import ConfigError
from reflexiond.errors import EXIT_CONFIG
from reflexiond.settings import SETTINGS, load

DOC = (Path(__file__).parents[2] / "docs/configuration.md").read_text("utf-8")


def rows_of(key: str) -> list[list[str]]:
    """Return the cells of each table row about a key."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in DOC.splitlines()
        if line.startswith(f"| `{key}` |")
    ]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_each_setting_is_documented(setting: Setting) -> None:
    """Its default, bounds and meaning stand in one table, its variables in the other."""
    described, named = rows_of(setting.key)
    _, default, accepted, meaning = described
    assert default == (f"`{setting.default}`" if setting.default else "empty")
    assert [] == [word for word in setting.choices if f"`{word}`" not in accepted]
    if setting.kind in ("int", "float", "duration"):
        assert setting.write(setting.minimum) in accepted
        bounded = setting.maximum < 2**63 - 1
        assert not bounded or accepted.endswith(setting.write(setting.maximum))
    assert setting.help == meaning
    assert [f"`{name}`" for name in setting.names] == [cell for cell in named[1:] if cell]


def test_nothing_else_is_documented() -> None:
    """A setting that was taken out does not live on in the document."""
    tables = DOC[DOC.index("## Settings") : DOC.index("What ChatCLI accepts")]
    keys = set(re.findall(r"^\| `([^`]+)` \|", tables, re.MULTILINE))
    assert {setting.key for setting in SETTINGS} == keys
    variables = set(re.findall(r"REFLEXIOND_[A-Z_]+", DOC)) - {"REFLEXIOND_", "REFLEXIOND_CONFIG"}
    assert {setting.names[0] for setting in SETTINGS} == variables


def test_every_option_is_documented() -> None:
    """Settings with an option of their own are listed with the command line."""
    options = [setting.option for setting in SETTINGS if setting.option]
    assert [] == [option for option in options if f"`{option}`" not in DOC]


def test_the_example_is_a_valid_file(tmp_path: Path) -> None:
    """Copied as it stands, the example is read without complaint."""
    [example] = re.findall(r"```toml\n(.*?)```", DOC, re.DOTALL)
    file = tmp_path / "config.toml"
    file.write_text(example)
    found = load(overrides={}, env={"HOME": "/h"}, file=file)
    assert (4, 0, "debug") == (found.workers, found.embed_idle_unload_ns, found.log_level)


def test_the_quoted_error_is_the_real_one() -> None:
    """The message in the document is the one that a user meets, and so is the exit code."""
    with pytest.raises(ConfigError) as caught:
        load(overrides={}, env={"HOME": "/h", "REFLEXIOND_QUEUE_BLOCK_TIMEOUT": "5"})
    assert f"reflexiond: {caught.value}\n" in DOC
    assert f"code {EXIT_CONFIG}:" in DOC
