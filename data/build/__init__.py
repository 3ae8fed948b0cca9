"""From archives to a dataset file, in steps that can be stopped and continued anywhere."""
