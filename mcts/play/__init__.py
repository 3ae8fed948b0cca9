"""A player (game, clock, manners), thinkers without a search, and the analysis of a game."""
