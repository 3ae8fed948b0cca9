"""Games of programs against themselves, many at once: begin with `games.py`."""
