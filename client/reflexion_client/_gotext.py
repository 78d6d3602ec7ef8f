"""Text as Go reads it: whitespace, lower case, and the written forms of values.

Job ids and settings have to mean the same here and in programs written in Go. Python's
`str.lower`, `split`, `strip`, `int` and `float` differ from Go's functions in details that
change a result; each function below follows the Go standard library (packages `strings`,
`strconv` and `time`, with the tables of Unicode 15).
"""

from __future__ import annotations

import math
import re

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1

WHITESPACE = (
    "\t\n\v\f\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What `unicode.IsSpace` holds for white. Python adds the separators U+001C to U+001F."""

_FIELD = re.compile(f"[^{WHITESPACE}]+")
_SURROGATE = re.compile("[\ud800-\udfff]")

# Capitals that only Unicode 16 and 17 know: a newer Python lowers them, Unicode 15 does not.
_YOUNG_CAPITALS = (
    *(0x1C89, 0xA7CB, 0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA, 0xA7DC),
    *range(0x10D50, 0x10D66),
    *range(0x16EA0, 0x16EB9),
)
_LOWER = {"\u0130": "i"} | {chr(capital): chr(capital) for capital in _YOUNG_CAPITALS}

UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "\xb5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
"""Nanoseconds of each unit of a duration; microseconds may be written in three ways."""

_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_INT = re.compile(r"[+-]?[0-9]+")
_SPECIAL = re.compile(r"[+-]?inf(?:inity)?|nan", re.IGNORECASE | re.ASCII)
_DIGITS, _HEX = "[0-9](?:_?[0-9])*", "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX}(?:\.(?:{_HEX})?)?|\.{_HEX})[pP][+-]?{_DIGITS}")
_BOOLEANS = dict.fromkeys(("1", "t", "true", "y", "yes", "on"), True) | dict.fromkeys(
    ("0", "f", "false", "n", "no", "off"), False
)


def trim_space(text: str) -> str:
    """Return the text without the whitespace at both ends."""
    return text.strip(WHITESPACE)


def fields(text: str) -> list[str]:
    """Return the pieces of the text between runs of whitespace."""
    return _FIELD.findall(text)


def collapse(text: str) -> str:
    """Return the text trimmed, each inner run of whitespace made one blank."""
    return " ".join(fields(text))


def lower(text: str) -> str:
    """Lower each code point by itself: no final sigma, no two letters for one."""
    if text.isascii():
        return text.lower()
    return "".join(_LOWER.get(letter) or letter.lower() for letter in text)


def well_formed(text: str) -> str:
    """Return the text with U+FFFD for every surrogate, so that it can be written as UTF-8.

    A surrogate stands in a Python string for a byte that was no UTF-8 (file names,
    output of programs) or for half an escape in JSON.
    """
    return _SURROGATE.sub("\ufffd", text)


def parse_bool(text: str) -> bool:
    """Read a switch: 1, t, true, y, yes, on, or their opposites, in any case.

    Raises:
        ValueError: it is none of them.
    """
    try:
        return _BOOLEANS[lower(trim_space(text))]
    except KeyError:
        raise ValueError(text) from None


def parse_int(text: str) -> int:
    """Read a decimal number of 64 bits: ASCII digits, an optional sign, nothing else.

    Raises:
        ValueError: it is no such number.
    """
    text = trim_space(text)
    if not _INT.fullmatch(text):
        raise ValueError(text)
    number = int(text)
    if not INT64_MIN <= number <= INT64_MAX:
        raise ValueError(text)
    return number


def parse_float(text: str) -> float:
    """Read a floating-point number: decimal, hexadecimal with exponent, Inf or NaN.

    `_` may stand between digits. A number too small to hold is 0.

    Raises:
        ValueError: it is no number, or too large to hold.
    """
    text = trim_space(text)
    if _SPECIAL.fullmatch(text):
        return float(text)
    plain = text.replace("_", "")
    if _DECIMAL.fullmatch(text):
        number = float(plain)
    elif _HEXADECIMAL.fullmatch(text):
        number = _from_hex(plain)
    else:
        raise ValueError(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def parse_duration_ns(text: str) -> int:
    """Read a duration such as `1m30s`, `1.5h` or `250ms`, in nanoseconds.

    Every number has its unit (ns, us, ms, s, m, h); only 0 may stand alone. What is
    smaller than a nanosecond is cut off.

    Raises:
        ValueError: it is no duration, or longer than 64 bits hold (about 292 years).
    """
    text = trim_space(text)
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(text)
    total, at = 0, 0
    while at < len(rest):
        term = _TERM.match(rest, at)
        if term is None:
            raise ValueError(text)
        total += _term_ns(*term.groups(""))
        at = term.end()
    total = -total if negative else total
    if not INT64_MIN <= total <= INT64_MAX:
        raise ValueError(text)
    return total


def format_duration(duration_ns: int) -> str:
    """Write nanoseconds in the form that `parse_duration_ns` reads, parts of zero left out."""
    sign, rest = ("-" if duration_ns < 0 else ""), abs(duration_ns)
    if rest == 0:
        return "0s"
    for unit in ("ns", "us", "ms"):
        if rest < UNITS_NS[unit] * 1_000:
            return f"{sign}{_decimal(rest, UNITS_NS[unit])}{unit}"
    parts = []
    for unit in ("h", "m"):
        count, rest = divmod(rest, UNITS_NS[unit])
        parts.append(f"{count}{unit}" if count else "")
    seconds = f"{_decimal(rest, UNITS_NS['s'])}s" if rest else ""
    return f"{sign}{''.join(parts)}{seconds}"


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        raise ValueError(text) from None


def _term_ns(whole: str, fraction: str, unit: str) -> int:
    unit_ns = UNITS_NS.get(unit)
    if unit_ns is None or not whole + fraction:
        raise ValueError(unit)
    return int(whole or "0") * unit_ns + _fraction_ns(fraction, unit_ns)


def _fraction_ns(digits: str, unit_ns: int) -> int:
    # Digits beyond 64 bits are ignored and the product is floating-point, as in Go: exact
    # arithmetic would differ by a nanosecond now and then.
    value, scale = 0, 1.0
    for digit in digits:
        longer = value * 10 + int(digit)
        if longer > 1 << 63:
            break
        value, scale = longer, scale * 10
    return int(value * (unit_ns / scale))


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    if not rest:
        return str(whole)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
