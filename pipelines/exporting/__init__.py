"""What serves `export_model.py`."""
