"""Measures of a ranking, one a file, named as in `ir_measures`.

`relevances` is what a ranking's units are worth, first rank first: the relevance of the judgment that each took, None
where it took none. A measure that is undefined is None, never 0.
"""
