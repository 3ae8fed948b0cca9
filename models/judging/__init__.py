"""How good answers are: scores with intervals."""
