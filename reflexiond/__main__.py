"""Entry point of the `reflexiond` command."""
