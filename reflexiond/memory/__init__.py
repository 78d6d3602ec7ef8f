"""Lessons: how they are worded, found, ranked and shown."""
