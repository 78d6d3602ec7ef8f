"""The daemon that lets AI agents learn from their failures."""
