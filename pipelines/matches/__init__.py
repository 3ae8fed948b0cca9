"""What serves `play_match.py`: games between engines, referee, results."""
