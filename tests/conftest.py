"""What holds for all tests: threads of torch that wait for each other leave the core to others.

By default they spin. Where two test processes of two threads each share two cores, a small
convolution then takes a hundred times as long as it computes.
"""

import os

# torch reads it when it is first imported; scripts that tests start inherit it
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
