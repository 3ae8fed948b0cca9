"""Positions as planes, which networks take as input."""
