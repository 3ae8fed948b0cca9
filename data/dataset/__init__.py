"""The dataset file: its layout, how it is read, checked, summarised and sampled."""
