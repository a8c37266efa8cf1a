"""Replay: an exported evaluation set ranked again, and compared with its own traces on the same judgments.

The queries are ranked on the corpora that the set froze, by RankCorpus, so nothing of it enters a project or a history.
"""
