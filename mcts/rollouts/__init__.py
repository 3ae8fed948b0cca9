"""Games played to their end by compiled loops, and the threads that run them."""
