"""Texts that find the places where lines, characters, bytes and tokens disagree."""

from hypothesis import strategies as st

ODD_LINE_BREAKS = ["\u2028", "\u2029", "\x0b", "\x0c", "\x85", "\x1c", "\x1d", "\x1e", "\0"]

FRAGMENTS = [
    *ODD_LINE_BREAKS,
    *("\n", "\n\n", "\r", "\r\n", "\r\n\r\n", "\n\r", "\ufeff", "\u200b", "\t", "    ", " "),
    *("# One\n", "## Two\n", "### Two\n", "# \n", "#", "Set\n===\n", "Set\n---\n", "# A *b* [c](d) `e`\n", "# !!!\n"),
    *("> quote\n", "> # in a quote\n", "- item\n", "- # in an item\n", "  1. nested\n", "* a\n\n  b\n", "---\n"),
    *(
        "```\n# code\n",
        "```\n",
        "~~~\n",
        "<!--\n",
        "-->\n",
        "<div>\n",
        "[a]: /b\n",
        "|a|b|\n|-|-|\n",
        "title: T\n",
        "...\n",
    ),
    *(
        "A sentence of plain words. ",
        "naïve café ",
        "東京タワーの高さは三百三十三メートル。",
        "🙂👩‍👩‍👧",
        "e\u0301",
        "unbelievably ",
    ),
    "x" * 300,
    "lorem ipsum dolor sit amet " * 30,
]

texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=40).map(
    lambda parts: "".join(parts).encode("utf-8", "ignore").decode("utf-8")
)
"""Any text, mostly of Markdown."""
