"""What serves `evaluate_model.py` and `evaluate_rollouts.py`."""
