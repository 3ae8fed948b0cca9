"""The tree as arrays, and the compiled loops that descend, expand and back up."""
