"""The content words of a text, cut exactly as the full-text index cuts them.

The index is FTS5 with the tokenizer `unicode61 remove_diacritics 2`
(https://www.sqlite.org/fts5.html#unicode61_tokenizer): letters and digits form words,
case and the accents of Latin letters are folded away. Identifiers need nothing more:
`tests/test_cart.py` falls into tests, test, cart and py on both sides. SQLite's tables
are those of Unicode 6.1; symbols that came later (most emoji) are words to it, not here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

MAX_TERMS = 32

# Function words, then what every task says, whatever it is about.
_STOP_WORDS = """
a about after again all also am an and any are as at be been before being but by can could did do
does doing don down each else even every few for from had has have having he her here him his how i
if in into is isn it its itself just let like me more most much my no nor not now of off on once
only or other our out over own per same she should so some still such than that the their them then
there these they this those through to too under until up us very via was we were what when where
which while who whom why will with within without would yes you your
add change continue create fix get help make need ok please put run running task thanks try update
use used using want work write
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# The combining marks that `unicode61` counts as part of a word, and drops.
_DROPPED = frozenset(
    chr(0x300 + bit) for bit in range(50) if (0x08029FDF | 0x000361F8 << 32) >> bit & 1
)


def content_terms(text: str, limit: int = MAX_TERMS) -> list[str]:
    """Give the first `limit` different content words of a text, folded, in order.

    Stop words and single ASCII characters are left out: they tell no tasks apart.
    """
    found: dict[str, None] = {}
    for token in tokens(text):
        if token in STOP_WORDS or (len(token) == 1 and token.isascii()):
            continue
        found[token] = None
        if len(found) == limit:
            break
    return list(found)


def tokens(text: str) -> Iterator[str]:
    """Yield every word of a text, folded, in order, as the full-text index sees it."""
    return filter(None, text.translate(_FOLDING).split(" "))


class _Folding(dict[int, str]):
    """Code point to what stands for it in a word: filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < _FOLDED_CHARACTERS:
            self[code] = folded
        return folded


def _fold(character: str) -> str:
    """Fold one character of a word: "" for a dropped accent, a blank for a separator."""
    if character in _DROPPED:
        return ""
    category = unicodedata.category(character)
    if category[0] not in "LN" and category != "Co":
        return " "
    folded = character.casefold()
    if len(folded) > 1:
        folded = character.lower()[0]
    base = unicodedata.normalize("NFD", folded)[0]
    return base if base.isascii() else folded


_FOLDED_CHARACTERS = 8192
_FOLDING = _Folding()
