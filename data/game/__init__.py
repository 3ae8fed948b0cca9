"""The game: points and their names, symmetries, the board and its rules."""
