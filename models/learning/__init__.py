"""How networks learn: Lightning modules, optimisers, checkpoints that a run can continue from."""
