"""A live run: a ranker retrieves, and a language model answers where one is configured."""
