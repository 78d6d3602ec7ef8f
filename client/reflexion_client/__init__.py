"""What an agent tool imports to report failures and recall lessons.

>>> from reflexion_client import Client, ReflexionHook
>>> client = Client(source="my-agent")
>>> hook = ReflexionHook(client)

Names are loaded at first use: importing this package costs a tool next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aio import AsyncClient as AsyncClient
    from .errors import CallTimeout as CallTimeout
    from .errors import ConfigError as ConfigError
    from .errors import ConnectionLost as ConnectionLost
    from .errors import DaemonUnreachable as DaemonUnreachable
    from .errors import ProtocolError as ProtocolError
    from .errors import ReflexionError as ReflexionError
    from .errors import RemoteError as RemoteError
    from .hook import Gates as Gates
    from .hook import Posted as Posted
    from .hook import ReflexionHook as ReflexionHook
    from .identity import derive_job_id as derive_job_id
    from .model import Enqueued as Enqueued
    from .model import LessonRequest as LessonRequest
    from .model import Recall as Recall
    from .model import RecalledLesson as RecalledLesson
    from .model import Reflected as Reflected
    from .model import Remembered as Remembered
    from .model import Trigger as Trigger
    from .sync import Client as Client

__version__ = "0.1.0"

_HOMES = {
    "AsyncClient": "aio",
    "Client": "sync",
    "CallTimeout": "errors",
    "ConfigError": "errors",
    "ConnectionLost": "errors",
    "DaemonUnreachable": "errors",
    "ProtocolError": "errors",
    "ReflexionError": "errors",
    "RemoteError": "errors",
    "Gates": "hook",
    "Posted": "hook",
    "ReflexionHook": "hook",
    "derive_job_id": "identity",
    "Enqueued": "model",
    "LessonRequest": "model",
    "Recall": "model",
    "RecalledLesson": "model",
    "Reflected": "model",
    "Remembered": "model",
    "Trigger": "model",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - the table is the list


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
