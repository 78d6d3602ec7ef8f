"""Which project a folder belongs to."""

from __future__ import annotations

from pathlib import Path


def find_workspace(folder: Path) -> Path:
    """Return the git root above `folder`, else `folder` itself, as an absolute path.

    A `.git` file (a worktree or submodule) marks a root as well as a folder does.
    """
    start = folder.absolute()
    for candidate in (start, *start.parents):
        if (candidate / ".git").exists():
            return candidate
    return start
