"""From a dataset file to batches: which rows, in which order, in which orientation."""
