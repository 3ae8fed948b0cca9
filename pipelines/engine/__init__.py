"""From a configuration to a program that plays."""
