"""The memory of played games that a net learns from: begin with `memory.py`."""
