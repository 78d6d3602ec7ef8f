"""Embedding models behind one port."""

from __future__ import annotations

from pathlib import Path

from .onnx import BUILTIN_FLOOR, OnnxEmbedder, builtin_model, folder_model
from .port import Embedder

__all__ = ["Embedder", "open_builtin", "open_embedder"]


def open_builtin(*, threads: int = 1, idle_unload_s: float = 600.0) -> OnnxEmbedder:
    """Return the built-in model; nothing is loaded before it is needed."""
    return OnnxEmbedder(builtin_model(), threads=threads, idle_unload_s=idle_unload_s)


async def open_embedder(model: str, *, threads: int, idle_unload_s: float) -> Embedder | None:
    """Return the model that a setting names: builtin, a folder, or None for off.

    A folder's model is compared with the built-in model's floor until one is set.

    Raises:
        EmbedderUnavailable: the folder holds no usable model.
    """
    if model == "off":
        return None
    if model == "builtin":
        return open_builtin(threads=threads, idle_unload_s=idle_unload_s)
    found = await folder_model(Path(model), BUILTIN_FLOOR)
    return OnnxEmbedder(found, threads=threads, idle_unload_s=idle_unload_s)
