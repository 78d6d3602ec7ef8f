"""How a measurement is printed: a row with what was measured, the bound, and the ratio."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def row(name: str, measured: float, unit: str, bound: float, *, least: bool = False) -> bool:
    """Print one row; return whether the bound is kept. `least`: the bound is a minimum."""
    kept = measured >= bound if least else measured <= bound
    sign = ">=" if least else "<="
    print(f"{'ok  ' if kept else 'MISS'} {name:<58} {measured:>10.2f} {unit:<6} {sign} {bound:.2f}")
    return kept


def fact(name: str, measured: float, unit: str) -> None:
    """Print a number that has no bound."""
    print(f"     {name:<58} {measured:>10.2f} {unit}")


def median_ms(seconds: Sequence[float]) -> float:
    """Return the median in milliseconds."""
    return statistics.median(seconds) * 1000


def p99_ms(seconds: Sequence[float]) -> float:
    """Return the 99th percentile in milliseconds."""
    return sorted(seconds)[max(int(len(seconds) * 0.99) - 1, 0)] * 1000
