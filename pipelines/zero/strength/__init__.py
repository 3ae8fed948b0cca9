"""How strong the nets of a run are, by matches: begin with `strength.py`."""
