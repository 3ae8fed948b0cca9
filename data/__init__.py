"""The game, the records, the planes and the dataset: everything that comes before a network."""
