"""From options to a program that plays: nets, thinkers, the player of a GTP engine."""
