"""Storage: the port, and one folder an engine."""
