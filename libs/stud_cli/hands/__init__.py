"""Recorded hands as commands: judged by the rules alone, or played through the running services."""
