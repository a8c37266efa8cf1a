"""One file a page, or family of them. A page converts in, calls, renders; it changes nothing when it is read."""
