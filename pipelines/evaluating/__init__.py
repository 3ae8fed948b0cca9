"""What serves `evaluate_model.py`."""
