"""What every script shares: how it starts, its options, paths, messages and tables."""
