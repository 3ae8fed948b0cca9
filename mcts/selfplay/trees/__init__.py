"""Games with a search of their own each: begin with `tree_games.py`."""
