"""What serves the scripts of self-play: value data, and what learns from own games."""
