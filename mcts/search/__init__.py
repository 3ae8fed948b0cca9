"""The asynchronous search: its loop, its parameters, and the queue to the networks."""
