"""Sweeps: many runs of one script, their jobs and their tables."""
