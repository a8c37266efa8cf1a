"""Sizes as people read them."""

KIBIBYTE = 1_024
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def size_words(size_bytes: int) -> str:
    """Return a number of bytes in the largest unit of which there is one, such as "3.4 MiB"."""
    if size_bytes < KIBIBYTE:
        return f"{size_bytes} bytes"
    size, unit = float(size_bytes), ""
    for unit in _UNITS:  # noqa: B007 - the last one reached
        size /= KIBIBYTE
        if size < KIBIBYTE:
            break
    return f"{size:.1f} {unit}"
