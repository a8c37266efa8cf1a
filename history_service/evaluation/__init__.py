"""The benchmark of a source trace: rankings and judgments in, numbers out.

Pure: nothing here reads a clock, a file or a database, and the same cases give the same report, bit for bit.
"""
