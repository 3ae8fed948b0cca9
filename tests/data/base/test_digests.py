"""The checksum in the first bytes of a file: every flipped bit is seen, older files have none."""

import random

import h5py
import numpy as np
import pytest

from data.base import digests
from data.hdf5.new_file import new_file
from tests.support.builds import build_here
from tests.support.damage import flip_bits, zero_region
from tests.support.own_games import collect, write_zip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    build_here(write_zip(folder / "a.zip", collect(6)), folder / "o.h5")
    return folder / "o.h5"


def test_a_finished_dataset_carries_its_checksum(finished):
    assert digests.find_change(finished) == ""
    text = finished.read_bytes()[: digests.BLOCK].rstrip(b"\0").decode()
    assert text.splitlines()[1] == f"SHA-256 of these bytes: {digests.read_digest(finished)}"
    with h5py.File(finished, "r") as file:
        assert file.userblock_size == digests.BLOCK


@pytest.mark.parametrize("seed", range(60))
def test_no_change_goes_unseen(finished, tmp_path, seed):
    rng = random.Random(seed)
    data = finished.read_bytes()
    head = seed % 6 == 0
    part = data[: digests.BLOCK] if head else data[digests.BLOCK :]
    part = flip_bits(part, rng) if seed % 2 else zero_region(part, rng)
    changed = part + data[digests.BLOCK :] if head else data[: digests.BLOCK] + part
    (tmp_path / "a.h5").write_bytes(changed)
    assert (digests.find_change(tmp_path / "a.h5") != "") == (changed != data)


@pytest.mark.parametrize("length", [0, 100, 512, 600, -1])
def test_a_cut_file_has_changed(finished, tmp_path, length):
    (tmp_path / "a.h5").write_bytes(finished.read_bytes()[:length])
    assert digests.find_change(tmp_path / "a.h5")


def test_a_file_of_an_older_version_has_no_checksum(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(3)
    assert digests.read_digest(tmp_path / "a.h5") == digests.find_change(tmp_path / "a.h5") == ""


def test_an_edit_is_seen(tmp_path):
    with new_file(tmp_path / "a.h5") as new:
        new.file["x"] = np.arange(3)
    assert digests.find_change(tmp_path / "a.h5") == ""
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["x"][0] = 7
    assert "checksum differs" in digests.find_change(tmp_path / "a.h5")
