"""The examples below a command's help."""


def examples(*lines: str) -> str:
    """Return an epilog that shows each example on a line of its own."""
    # Click folds a paragraph's lines unless a backspace stands before it.
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
