"""HDF5 made safe: files that are written whole or not at all, and files of strangers read without harm."""
