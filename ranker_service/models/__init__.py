"""The encoder and the rerankers; the only room that imports torch."""
