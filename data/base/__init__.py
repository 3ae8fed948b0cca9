"""What every room uses: compiled kernels, files that are written whole or not at all, errors, cores and Ctrl-C."""
