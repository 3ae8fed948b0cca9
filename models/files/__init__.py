"""Networks as files: cards, checkpoints, checksums."""
