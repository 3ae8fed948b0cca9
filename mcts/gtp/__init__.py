"""The Go Text Protocol: an engine, its commands and their arguments."""
