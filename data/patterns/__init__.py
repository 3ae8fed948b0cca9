"""Positions as pattern features, which rollout and tree policies take as input."""
