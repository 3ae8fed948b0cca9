"""What `measure_speed.py` measures."""
