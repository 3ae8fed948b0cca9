"""What serves `reinforce_policy.py`."""
