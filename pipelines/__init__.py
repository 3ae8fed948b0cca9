"""Scripts that join the packages; the only users of Hydra."""
