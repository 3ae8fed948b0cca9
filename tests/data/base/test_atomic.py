"""Files that are replaced whole or not at all."""

import errno
import os

import pytest

from data.base.atomic import DiskFull, replacing, write_text


class Stopped(Exception):
    pass


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old" and temporary.parent == tmp_path
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.json"]


def test_a_block_that_raises_changes_nothing(tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "old")
    with pytest.raises(Stopped), replacing(path) as temporary:
        temporary.write_text("half")
        raise Stopped
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.json"]


def test_a_full_disk_names_the_folder(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(DiskFull, match="what is finished is kept") as caught,
        replacing(tmp_path / "a"),
    ):
        raise full
    assert caught.value.filename == str(tmp_path) and not os.listdir(tmp_path)


def test_an_error_about_another_file_keeps_its_words(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "a"):
        (tmp_path / "not there").read_text()
    assert caught.value.filename == str(tmp_path / "not there")
    with pytest.raises(OSError, match="words of a library"), replacing(tmp_path / "a"):
        raise OSError("words of a library")


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_text(tmp_path / "gone" / "a", "x")
    assert caught.value.filename == str(tmp_path / "gone")
