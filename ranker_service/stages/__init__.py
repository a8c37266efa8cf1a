"""One stage a file; no input or output, no clock."""
