"""Content words: cut as SQLite's full-text index cuts them."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexiond.memory.terms import MAX_TERMS, STOP_WORDS, content_terms, tokens

sqlite = pytest.importorskip("pysqlite3.dbapi2", reason="needs an SQLite with FTS5")

# What people write: ASCII with controls, accented Latin (composed or not), Greek, Cyrillic, CJK.
LETTERS = (
    "".join(map(chr, range(1, 127)))
    + "".join(map(chr, range(0xA0, 0x180)))
    + "\u0300\u0301\u0303\u0308\u030a\u0327"
    + "αβςσΣΆάЙйжЯёİıßẞﬁ½²Ⅷ٣漢字かなカ한글→…“”€"
)


@pytest.fixture(scope="module")
def index():
    """Give an in-memory FTS5 table with the tokenizer of the index, and its vocabulary."""
    connection = sqlite.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE text USING fts5(body, tokenize='unicode61 remove_diacritics 2')"
    )
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab(text, 'instance')")
    yield connection
    connection.close()


def indexed(index, text: str) -> list[str]:
    index.execute("DELETE FROM text")
    index.execute("INSERT INTO text(body) VALUES (?)", (text,))
    return [word for (word,) in index.execute("SELECT term FROM words ORDER BY offset")]


@given(text=st.text(alphabet=LETTERS, max_size=60))
def test_tokens_are_those_of_the_full_text_index(index, text):
    """Every text of usual characters falls into the same words as in FTS5."""
    assert indexed(index, text) == list(tokens(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pytest tests/test_cart.py::test_total", "pytest tests test cart py test total"),
        ("Crème BRÛLÉE über e\u0301te", "creme brulee uber ete"),
        ("E0502 ERR_MODULE_NOT_FOUND x=1", "e0502 err module not found x 1"),
        ("\u0301\u0301", ""),
        ("", ""),
    ],
)
def test_tokens_by_example(index, text, expected):
    """Paths and error codes fall apart at punctuation; case and accents fold."""
    assert expected.split() == list(tokens(text))
    assert expected.split() == indexed(index, text)


def test_content_terms_leave_out_what_every_task_says():
    """Function words, general task verbs and single characters do not count."""
    assert ["failing", "cart", "go"] == content_terms("Please fix the failing cart in Go: a + b")


def test_a_task_of_stop_words_has_no_terms():
    """Nothing is left of a text without content."""
    assert [] == content_terms("please try to do it for me")


def test_content_terms_are_different_and_few():
    """Each word stands once, in order of appearance, up to the limit."""
    text = " ".join(f"word{number}" for number in [*range(40), *range(40)])
    assert [f"word{number}" for number in range(MAX_TERMS)] == content_terms(text)
    assert ["word0", "word1"] == content_terms(text, limit=2)


def test_a_single_han_character_is_a_word():
    """Only single ASCII characters are dropped."""
    assert ["測"] == content_terms("a 測 1")


def test_stop_words_are_in_folded_form():
    """Each stop word is one token, so that it can match at all."""
    assert all([word] == list(tokens(word)) for word in STOP_WORDS)


@given(words=st.lists(st.text(alphabet=string.ascii_letters, min_size=2, max_size=8), min_size=1))
def test_a_text_is_found_by_any_of_its_terms(index, words):
    """The query of a text's own content words matches that text."""
    text = " ".join(words)
    indexed(index, text)
    if terms := content_terms(text):
        query = f'"{terms[-1]}"'
        found = index.execute("SELECT count(*) FROM text WHERE text MATCH ?", (query,)).fetchone()
        assert (1,) == found
