"""What every room uses: kernels, files that are whole or not there, errors, cores and Ctrl-C."""
