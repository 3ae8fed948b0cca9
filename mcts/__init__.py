"""Tree search: tree, rollouts, player, GTP. Knows the game, not torch."""
