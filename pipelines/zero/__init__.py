"""Learning from nothing, round by round: begin with `run.py`."""
