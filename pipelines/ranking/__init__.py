"""What serves `estimate_rank.py`: its options, the moves of games, their likelihoods, tables."""
