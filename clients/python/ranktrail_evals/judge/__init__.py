"""Metrics that a language model judges. Each asks on its own, so that a failing call costs one value.

The model is whatever serves an OpenAI-compatible endpoint: Ollama, llama.cpp, vLLM. Beside each value stands a lexical
baseline that needs no model: a judge that does not beat it adds nothing.
"""
