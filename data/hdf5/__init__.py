"""HDF5 made safe: write a file whole or not at all, read a stranger's file without harm."""
