"""What every room uses: compiled kernels, atomic files, locks, errors, cores and Ctrl-C."""
