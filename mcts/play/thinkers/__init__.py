"""Thinkers without a search: a policy net, rollouts, or random sensible moves."""
