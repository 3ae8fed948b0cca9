"""What serves `analyze_game.py`: its options, the game, the files, the table."""
