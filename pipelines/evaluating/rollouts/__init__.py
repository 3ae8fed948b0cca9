"""What serves `evaluate_rollouts.py`: begin with `positions.py`."""
