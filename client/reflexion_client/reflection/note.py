"""The note that tells an agent, in three lines, what its last failure means."""

from __future__ import annotations

import re

from .model import Reflection

NOTE_LIMIT = 600
_TOOL_LIMIT = 60
_CAUSE_LIMIT = 240

_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def format_system_note(tool_name: str, reflection: Reflection) -> str:
    """Three lines, at most 600 characters, whatever the tool and its output contained."""
    tool = _one_line(tool_name, _TOOL_LIMIT) or "tool"
    cause = _one_line(reflection.root_cause, _CAUSE_LIMIT) or "unknown"
    head = f"[reflexion] {tool} failed ({reflection.mode}).\ncause: {cause}\nnext step: "
    return head + _one_line(reflection.hypothesis, NOTE_LIMIT - len(head))


def _one_line(text: str, limit: int) -> str:
    """`text` without line breaks and control characters, at most `limit` characters."""
    flat = _BREAKS.sub(" ", text[: 8 * limit].encode("utf-8", "replace").decode()).strip()
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
