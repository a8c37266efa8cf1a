"""The diagnostics pages: where people see what both services do and how each answer came about."""
