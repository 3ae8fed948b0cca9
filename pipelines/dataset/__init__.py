"""Building and inspecting a dataset: options, the report, counts, one position, the verdict."""
