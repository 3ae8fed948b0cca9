"""What games of self-play tell of positions: begin with `net_rollouts.py`."""
