"""What serves `train_model.py`."""
