"""How networks answer: NumPy arrays in, NumPy arrays out."""
