"""Where games come from: folders, archives and their volumes, with limits on hostile ones."""
