"""How a Python server keeps the contracts' conventions: errors as statuses, limits on calls, where it listens."""
