"""Evaluation of retrieval and answers on authored datasets: measures, a gate, and comparison with a baseline.

It knows no service. What retrieves and what answers comes in through the protocols in contexts.py and answers.py.
"""
