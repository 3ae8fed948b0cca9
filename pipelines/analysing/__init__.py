"""What serves `analyze_game.py`: rows, table and SGF of an analysed game."""
