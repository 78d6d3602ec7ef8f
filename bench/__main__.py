"""Run every measurement; exit 1 when a bound is missed."""

from __future__ import annotations

from bench import enqueue, recall, startup

if __name__ == "__main__":
    kept = []
    for program in (startup, enqueue, recall):
        print(f"\n{program.__name__}: {(program.__doc__ or '').splitlines()[0]}")
        kept.append(program.main())
    raise SystemExit(not all(kept))
