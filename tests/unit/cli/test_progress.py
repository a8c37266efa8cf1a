"""How far a long task is, where there is no terminal."""

from ranktrail_cli.progress import REMARK_SECONDS, Remarks


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_comes_every_few_seconds_and_none_for_what_is_quick() -> None:
    said: list[str] = []
    clock = Clock()
    remarks = Remarks(said.append, clock)
    for second in range(int(REMARK_SECONDS)):
        clock.now = float(second)
        remarks.step("encode", second, 705)
    assert said == []
    clock.now = REMARK_SECONDS
    remarks.step("encode", 120, 705)
    remarks.step("encode", 121, 705)
    assert said == ["waiting for the index: encode 120 of 705"]


def test_a_phase_is_named_by_whose_it_is_and_an_unknown_length_is_left_out() -> None:
    said: list[str] = []
    clock = Clock()
    remarks = Remarks(said.append, clock)
    for phase, total in (("read", 9), ("send", 9), ("index", 0), ("ready", 0)):
        clock.now += REMARK_SECONDS
        remarks.step(phase, 1, total)
    assert said == ["read 1 of 9", "send 1 of 9", "waiting for the index: index"]


def test_what_else_is_waited_for_is_said_in_its_own_words() -> None:
    said: list[str] = []
    clock = Clock()
    remarks = Remarks(said.append, clock, prefix="checking ")
    clock.now = REMARK_SECONDS
    remarks.step("bodies", 256, 1_000)
    assert said == ["checking bodies 256 of 1000"]
