"""What memory asks of an embedding model, whichever it is and wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol

from reflexion_client.errors import ReflexionError
from reflexiond.model import Vector

__all__ = ["Embedder", "EmbedderUnavailable", "Kind", "Vector"]

Kind = Literal["query", "document"]
"""A task that asks, or a text that is kept. Some models treat the two differently."""


class EmbedderUnavailable(ReflexionError):  # noqa: N818 - named for what happened
    """The embedding model cannot be loaded or run; the message says what to install or repair."""

    code = "embedder_unavailable"
    hint: ClassVar[str] = "recall goes on with full text alone"


class Embedder(Protocol):
    """Turns texts into vectors of one space."""

    @property
    def id(self) -> str:
        """Provider, model and weights: equal ids mean comparable vectors."""

    @property
    def dimensions(self) -> int:
        """How many float32 values a vector has."""

    @property
    def floor(self) -> float:
        """The score below which a lesson of this space counts as unrelated."""

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now, so that `embed` answers without delay."""

    async def embed(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """Embed each text, in order. Each vector is float32 little-endian, L2-normalised.

        Raises:
            EmbedderUnavailable: the model cannot be loaded or run.
        """

    async def close(self) -> None:
        """Give up memory and threads. Idempotent; nothing can be embedded afterwards."""
