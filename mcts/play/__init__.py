"""A player: game, clock, manners, and what judges the end of a game."""
