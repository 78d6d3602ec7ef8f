"""Listeners to events: logs and counters, nothing more."""
