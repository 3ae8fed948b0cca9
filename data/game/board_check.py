"""Is a board's record what its stones say? `check_record`, for tests and for doubts."""

from typing import Any

import numpy as np

from data.game import board_kernels as kernels
from data.game.coords import to_gtp


def check_record(record: np.ndarray) -> None:
    """Recompute everything from the stones alone; raise AssertionError where `record` differs."""
    fresh = record.copy()
    sound = kernels.rebuild(fresh[0])
    assert sound, "a string without a liberty is on the board"
    ours, true = (
        {name: each[name][0] for name in each.dtype.names or ()} for each in (record, fresh)
    )
    assert ours["hash"] == true["hash"], "the incremental hash is wrong"
    assert ours["n_empty"] == true["n_empty"], "the number of empty points is wrong"
    n = int(true["n_empty"])
    listed = ours["empty"][:n]
    assert sorted(listed) == sorted(true["empty"][:n]), "the list of empty points is wrong"
    assert (ours["where"][listed] == np.arange(n)).all(), (
        "the index of the list of empty points is wrong"
    )
    for first in np.flatnonzero(true["stones"]):
        string = circle(true, int(first))
        head = int(ours["head"][first])
        at = to_gtp(kernels.from_vertex(int(first), int(ours["side"])), int(ours["side"]))
        assert (ours["head"][string] == head).all(), (
            f"stones of the string on {at} do not agree on its head"
        )
        assert sorted(circle(ours, head)) == sorted(string), f"the string on {at} is wrong"
        for field in ("libs", "stones", "bits"):
            assert (ours[field][head] == true[field][first]).all(), (
                f"{field} of the string on {at} is wrong"
            )


def circle(record: Any, head: int) -> list[int]:
    """Vertices of a string; a broken circle ends in an AssertionError, not in an endless loop."""
    vertices = [head]
    while (v := int(record["next"][vertices[-1]])) != head:
        vertices.append(v)
        assert len(vertices) <= kernels.VERTICES, "a string's circle does not close"
    return vertices
