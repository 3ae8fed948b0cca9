"""The Go Text Protocol: `engine.py` answers lines with the commands of the other modules."""
