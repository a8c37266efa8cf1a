"""Colours that stand for roles: each is drawn as itself and becomes a class that the page's style sheet colours.

The series are Okabe and Ito's, told apart with any colour vision; plots.css has their tones for either theme.
"""

INK = "#010001"
MUTED = "#010002"
GRID = "#010003"
ACCENT = "#010004"
BAD = "#010005"
SERIES = tuple(f"#01001{number}" for number in range(1, 8))

ROLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    ACCENT: "accent",
    BAD: "bad",
    **{colour: f"series-{number}" for number, colour in enumerate(SERIES, start=1)},
}
