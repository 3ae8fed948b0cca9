"""Feature sets and inputs as values: names tell them, and wrong names list both sides."""

from itertools import combinations

import numpy as np
import pytest

from data.base.errors import Mistake
from data.features.feature_set import ALPHAGO48, FEATURE_SETS, ZERO17, ZERO18, feature_set
from data.features.inputs import Inputs, inputs_of_names
from data.features.uniform import (
    CONDITIONS,
    NO_KOMI,
    UNIFORM,
    Conditions,
    Known,
    rank_codes,
    source_codes,
    uniform_bytes,
    year_codes,
)

TO_PLAY = np.array([1, -1, 1], np.int8)


def test_sets_have_the_planes_of_their_papers():
    assert [each.planes for each in FEATURE_SETS.values()] == [48, 16, 16]
    assert [each.row_bytes for each in FEATURE_SETS.values()] == [6, 2, 2]
    assert [len(Inputs(each)) for each in FEATURE_SETS.values()] == [48, 17, 18]
    assert ZERO17.plane_names == tuple(
        f"{who}:{k}" for who in ("own", "opponent") for k in range(8)
    )
    assert ZERO17.stores_like(ZERO18) and not ZERO17.stores_like(ALPHAGO48)
    assert all(feature_set(name) is each for name, each in FEATURE_SETS.items())
    with pytest.raises(Mistake, match="features=zero19: one of alphago48, zero17, zero18"):
        feature_set("zero19")


def test_each_feature_begins_where_the_one_before_ends():
    for features in FEATURE_SETS.values():
        names = [name.partition(":")[0] for name in features.plane_names]
        assert [features.offset(f.name) for f in features.features] == [
            names.index(f.name) for f in features.features
        ]
        with pytest.raises(KeyError, match="no feature is called 'libs': there are own, opponent"):
            features.offset("libs")


def all_inputs() -> list[Inputs]:
    return [
        Inputs(features, stored, chosen)
        for features in FEATURE_SETS.values()
        for stored in (1, 4, 12, features.planes, -1)
        if stored <= features.planes and (not features.history or stored in (16, -1))
        for count in range(4)
        for chosen in combinations(UNIFORM, count)
    ]


def test_the_names_of_planes_tell_the_inputs():
    for inputs in all_inputs():
        found = inputs_of_names(list(inputs.names))
        assert len(inputs.names) == len(inputs)
        assert found.names == inputs.names and found.features.stores_like(inputs.features)
        if found != inputs:  # zero17 with the other colour's plane is zero18
            assert (inputs.features, found.features) == (ZERO17, ZERO18)
            assert inputs.uniform[:2] == ZERO18.uniform


def test_inputs_are_values_and_own_planes_come_first():
    assert Inputs(ZERO17, uniform=("komi", "black_to_play")) == Inputs(ZERO17, 16, ("komi",))
    assert Inputs(ZERO18, uniform=CONDITIONS).uniform == (*ZERO18.uniform, *CONDITIONS)
    assert hash(Inputs()) == hash(Inputs(ALPHAGO48, 48))
    old = [Inputs.of_count(count) for count in (12, 48, 49, 50)]
    assert [len(inputs) for inputs in old] == [12, 48, 49, 50]
    assert old[3].names[48:] == ("black_to_play", "komi")


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("black_to_play",),
        ("empty", "own", "opponent"),
        ("own", "opponent", "moon"),
        ("black_to_play", "own", "opponent"),
        ("own:0", "opponent:0", "black_to_play"),
        ("own:0", "own:1", "black_to_play"),
        (*ZERO17.plane_names, "komi"),
    ],
)
def test_unknown_names_give_both_lists(names):
    with pytest.raises(Mistake) as raised:
        inputs_of_names(names)
    message = str(raised.value)
    assert "other planes than this program's" in message and "\n" not in message
    for each in (*names, *ALPHAGO48.plane_names, *ZERO17.plane_names):
        assert each in message


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Inputs(ZERO17, 17), "planes=17: zero17 has 16, and a net takes all"),
        (lambda: Inputs(ZERO17, 2), "planes=2: zero17 has 16, and a net takes all"),
        (lambda: Conditions.of({"year": 2055}), "year=2055: from 1800 to 2054, or unknown"),
        (lambda: Inputs(ALPHAGO48, 0), "planes=0"),
        (lambda: Inputs(ALPHAGO48, uniform=("moon",)), "moon: no such input"),
        (lambda: Inputs(ALPHAGO48, uniform=("komi", "komi")), "each input once"),
    ],
)
def test_impossible_inputs_are_refused(make, message):
    with pytest.raises(Mistake, match=message):
        make()


def test_uniform_planes_are_from_the_view_of_the_player_to_move():
    known = Known(
        komi=np.array([6.5, 6.5, np.nan], np.float32),
        black_rank=np.array([-30, 9, 0], np.int8),
        white_rank=np.array([1, 19, -1], np.int8),
        source=source_codes(["kgs", "fox", "a club"]),
        year=np.array([2015, 0, 1605], np.int16),
    )
    planes = uniform_bytes(UNIFORM, TO_PLAY, known)
    assert dict(zip(UNIFORM, planes.T.tolist(), strict=True)) == {
        "black_to_play": [1, 0, 1],
        "white_to_play": [0, 1, 0],
        "komi": [NO_KOMI - 13, NO_KOMI + 13, NO_KOMI],
        "own_rank": [1, 49, 0],
        "opponent_rank": [31, 39, 30],
        "source": [1, 2, 0],
        "year": [216, 0, 1],
    }
    unknown = uniform_bytes(UNIFORM, TO_PLAY, Known())
    assert unknown[:, 2:].tolist() == [[NO_KOMI, 0, 0, 0, 0]] * 3


def test_codes_of_ranks_and_years_rise_with_them():
    ranks = [*range(-30, 0), *range(1, 10), *range(11, 20)]
    codes = rank_codes(np.array(ranks)).tolist()
    assert sorted(set(codes)) == codes and codes[0] == 1 and rank_codes(np.zeros(1, int))[0] == 0
    years = year_codes(np.arange(1800, 2055)).tolist()
    assert years == list(range(1, 256))
