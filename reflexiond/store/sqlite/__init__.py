"""The SQLite engine."""

from .store import SqliteStore as SqliteStore
