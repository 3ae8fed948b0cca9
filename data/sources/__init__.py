"""Where games come from: folders, archives and their volumes, and the limits that guard against hostile ones."""
