"""Sources: what is found, in which order, and what damaged or hostile archives do."""

import bz2
import gzip
import io
import lzma
import os
import random
import socket
import struct
import tarfile
import threading
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import py7zr
import pytest

from data.sources.file_kinds import PassedOver
from data.sources.find import Source, find_sources, hash_source, read_members
from data.sources.guard import TRAILING, Limits, ReadStats, SourceError
from tests.support.paths import REAL_GAMES as GAMES

LIMITS = Limits()
FILES = {f"games/{k}.sgf": f"(;GM[1]C[game {k}];B[dd])".encode() * (k + 1) for k in (3, 1, 2)}


def make_zip(path, files, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def make_tar(path, files, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def rename_in_7z(path, renames):
    """Put names into a 7z that no writer would; its header is plain and its checksums are made
    anew.
    """
    data = path.read_bytes()
    for old, new in renames.items():
        assert len(old) == len(new) and old.encode("utf-16le") in data
        data = data.replace(old.encode("utf-16le"), new.encode("utf-16le"))
    offset, size = struct.unpack_from("<QQ", data, 12)
    start = struct.pack("<QQL", offset, size, zlib.crc32(data[32 + offset : 32 + offset + size]))
    path.write_bytes(data[:8] + struct.pack("<L", zlib.crc32(start)) + start + data[32:])


def make_7z(path, files, password=None):
    with py7zr.SevenZipFile(path, "w", password=password) as archive:
        archive.set_encoded_header_mode(password is not None)
        for name, data in files.items():
            archive.writestr(data, name)


MAKERS = {
    "a.zip": make_zip,
    "a.tar": make_tar,
    "a.tar.gz": lambda path, files: make_tar(path, files, "w:gz"),
    "a.tgz": lambda path, files: make_tar(path, files, "w:gz"),
    "a.tar.bz2": lambda path, files: make_tar(path, files, "w:bz2"),
    "a.tar.xz": lambda path, files: make_tar(path, files, "w:xz"),
    "a.7z": make_7z,
}


def read(path, limits=LIMITS, stats=None):
    (source,) = find_sources(str(path), path.parent)
    return list(read_members(source, limits, stats))


def read_until_error(path, limits=LIMITS):
    """The members before the error, and the error's text."""
    (source,) = find_sources(str(path), path.parent)
    members = []
    with pytest.raises(SourceError) as caught:
        for member in read_members(source, limits):
            members.append(member)
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    return members, str(caught.value)


# --- finding


def test_a_folder_is_one_source_and_its_archives_are_others(tmp_path):
    root = tmp_path / "collection"
    (root / "b" / "deep").mkdir(parents=True)
    for name in ("z.sgf", "b/deep/Y.SGF", "b/a.sgf", "b/notes.txt", "._z.sgf"):
        (root / name).write_bytes(b"(;B[dd])")
    make_zip(root / "b" / "more.zip", FILES)
    sources = find_sources("collection", tmp_path)
    assert [(source.label, source.kind) for source in sources] == [
        ("collection", "folder"),
        ("collection/b/more.zip", "zip"),
    ]
    assert sources[0].files == ("b/a.sgf", "b/deep/Y.SGF", "z.sgf") and sources[0].size == 24
    assert [member.name for member in read_members(sources[0], LIMITS)] == list(sources[0].files)


def test_lists_and_patterns_find_each_source_once(tmp_path):
    for name in ("b.zip", "a.zip", "[c].zip"):
        make_zip(tmp_path / name, FILES)
    (tmp_path / "x.sgf").write_bytes(b"(;B[dd])")
    (tmp_path / "readme.txt").write_bytes(b"hello")
    labels = [
        source.label
        for source in find_sources(["*.zip", "a.zip", str(tmp_path / "b.zip")], tmp_path)
    ]
    assert labels == ["[c].zip", "a.zip", "b.zip"]
    assert [source.label for source in find_sources("[c].zip", tmp_path)] == ["[c].zip"]
    assert [source.kind for source in find_sources("*", tmp_path)] == ["zip", "zip", "zip", "sgf"]
    assert len(find_sources([".", "x.sgf"], tmp_path)) == 4, "x.sgf is in the folder already"


def test_sources_of_one_name_are_told_apart(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        make_zip(tmp_path / folder / "a.zip", FILES)
    labels = [source.label for source in find_sources(["one/a.zip", "two/a.zip"], tmp_path)]
    assert labels == ["one/a.zip", "two/a.zip"]


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("nowhere", "does not exist"),
        ("*.rar", "nothing matches"),
        ("empty", "no game in it"),
        ("a.rar", "a .rar archive is not read; unpack it"),
        ("a.ngf", "not SGF is not read; convert it"),
        ("a.z01", "join its volumes"),
        ("a.sgf.bz2", "unpack it"),
        ("a.zip.1", "number the volumes .001, .002"),
        ("a.7z.part1", "number the volumes .001, .002"),
        ("a.001", "put the archive's ending before the number"),
        ("a.txt", "this type of file is not read"),
        ([], "no source"),
    ],
)
def test_what_cannot_be_a_source_is_told_in_one_line(tmp_path, named, says):
    (tmp_path / "empty").mkdir()
    if named and named[:2] == "a.":
        (tmp_path / named).write_bytes(b"Rar!")
    with pytest.raises(SourceError, match=says) as caught:
        find_sources(named, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_counts_what_it_does_not_read(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a.sgf", "b.gib", "c.rar", "d.rar", "e.ngf", "f.sgf.xz", "g.gz", "readme.txt", "picture.png", ".h.rar",
                 "i.001", "i.002", "j.7z.part1", "k.zip.1", "l.tar.gz.12", "m.rar.001", "x.sgf.001", "y.0001"):  # fmt: skip
        (root / name).write_bytes(b"(;B[dd])")
    passed = PassedOver()
    (source,) = find_sources(str(root), tmp_path, passed)
    assert source.files == ("a.sgf", "b.gib")
    assert {reason.split(":")[0]: count for reason, count in passed.counts.items()} == {
        "a .rar archive": 3,
        "a volume of a split archive, by an unusual name": 3,
        "perhaps a volume of a split archive, whose kind the name does not tell": 2,
        "a record that is not SGF": 1,
        "packed in a way that is not read": 1,
        "packed, and by its name no game": 1,
    }
    assert passed.examples["a .rar archive: unpack it and give the folder"] == [
        "root/c.rar",
        "root/d.rar",
        "root/m.rar.001",
    ]
    (root / "a.sgf").unlink()
    (root / "b.gib").unlink()
    with pytest.raises(
        SourceError,
        match=r"no game in it.*3 files passed over, such as root/c.rar: a .rar archive: unpack it",
    ):
        find_sources(str(root), tmp_path)


def make_special(path):
    """Names of files that are none: links that loop or lead nowhere, a pipe, a socket, a link to a
    device.
    """
    os.symlink("loop.sgf", path / "loop.sgf")
    os.symlink("there", path / "here")
    os.symlink("here", path / "there")
    os.symlink("gone", path / "broken.zip")
    os.mkfifo(path / "pipe.sgf")
    os.symlink("/dev/zero", path / "zero.7z")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path / "socket.tar"))
    return ["loop.sgf", "here", "there", "broken.zip", "pipe.sgf", "zero.7z", "socket.tar"]


def test_what_is_no_file_is_never_opened(tmp_path):
    names = make_special(tmp_path)
    (tmp_path / "a.sgf").write_bytes(b"(;B[dd])")
    passed = PassedOver()
    (source,) = find_sources(str(tmp_path), tmp_path, passed)
    assert source.files == ("a.sgf",)
    counts = {reason.split(":")[0]: count for reason, count in passed.counts.items()}
    assert counts == {
        "a link that leads in a circle": 3, "a link to nothing": 1, "a named pipe": 1, "a device": 1, "a socket": 1,
    }  # fmt: skip
    for name, what in (
        ("pipe.sgf", "a named pipe"),
        ("zero.7z", "a device"),
        ("socket.tar", "a socket"),
    ):
        with pytest.raises(SourceError, match=what):
            find_sources(name, tmp_path)
    assert [source.label for source in find_sources("*.*", tmp_path)] == ["a.sgf"]
    for name in names[:4]:
        with pytest.raises(SourceError):
            find_sources(name, tmp_path)


# --- volumes


def split(path, count, *, first=1, digits=3):
    """Cut a file into volumes of about one length and remove it; returns their paths."""
    data = path.read_bytes()
    length = -(-len(data) // count)
    volumes = [
        path.with_name(f"{path.name}.{number:0{digits}d}") for number in range(first, first + count)
    ]
    for k, volume in enumerate(volumes):
        volume.write_bytes(data[k * length : (k + 1) * length])
    path.unlink()
    return volumes


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("count", [1, 2, 11])
def test_volumes_are_read_as_the_archive_that_they_are(tmp_path, name, count):
    MAKERS[name](tmp_path / name, FILES)
    (whole,) = find_sources(name, tmp_path)
    expected, size, digest = list(read_members(whole, LIMITS)), whole.size, hash_source(whole)
    volumes = split(tmp_path / name, count)
    for named in (
        volumes[0].name,
        volumes[-1].name,
        f"{name}.*",
        str(tmp_path),
        [volume.name for volume in volumes],
    ):
        (source,) = find_sources(named, tmp_path)
        assert source.label == (f"{tmp_path.name}/{name}" if named == str(tmp_path) else name)
        assert (source.kind, source.size, source.volumes) == (whole.kind, size, tuple(volumes))
        assert list(read_members(source, LIMITS)) == expected and hash_source(source) == digest


def test_a_missing_volume_is_named(tmp_path):
    make_7z(tmp_path / "a.7z", {f"{k}.sgf": random.Random(k).randbytes(500) for k in range(20)})
    volumes = split(tmp_path / "a.7z", 5)
    volumes[2].unlink()
    os.mkfifo(volumes[2])  # nothing to wait for
    with pytest.raises(
        SourceError,
        match=r"a.7z: the volume a.7z.003 is missing; put it beside a.7z.001, a.7z.002, a.7z.004",
    ):
        find_sources("a.7z.001", tmp_path)
    # of many archives one may be incomplete: see `damaged`
    (source,) = find_sources(str(tmp_path), tmp_path)
    with pytest.raises(SourceError, match=r"the volume a.7z.003 is missing"):
        list(read_members(source, LIMITS))
    volumes[0].unlink()
    with pytest.raises(SourceError, match=r"the volume a.7z.001 is missing"):
        find_sources("a.7z.002", tmp_path)


def test_a_last_volume_that_is_missing_is_a_damaged_archive(tmp_path):
    make_7z(tmp_path / "a.7z", {f"{k}.sgf": random.Random(k).randbytes(500) for k in range(20)})
    split(tmp_path / "a.7z", 5)[-1].unlink()
    (source,) = find_sources("a.7z.001", tmp_path)
    with pytest.raises(
        SourceError,
        match=r"a.7z is damaged or incomplete.*a.7z.004 is the last volume that was found",
    ):
        list(read_members(source, LIMITS))


def test_numbers_may_begin_with_zero_and_the_joined_archive_may_lie_beside(tmp_path):
    make_7z(tmp_path / "a.7z", FILES)
    data = (tmp_path / "a.7z").read_bytes()
    split(tmp_path / "a.7z", 3, first=0)
    assert len(read(tmp_path / "a.7z.000")) == 3
    (tmp_path / "a.7z").write_bytes(data)
    assert [source.label for source in find_sources("a.7z*", tmp_path)] == ["a.7z", "a.7z.000"]


def test_numbers_behind_other_names_mean_nothing(tmp_path):
    for name in ("notes.001", "game.sgf.001", "a.7z.1", "a.7z.part1"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(SourceError, match="not read"):
            find_sources(name, tmp_path)


# --- packed games


@pytest.mark.parametrize("name", ["x.sgf.gz", "X.SGF.GZ", "x.gz", "misnamed.sgf"])
def test_a_packed_game_is_read(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"(;B[dd])"))
    assert [(member.name, member.data, member.error) for member in read(tmp_path / name)] == [
        (name, b"(;B[dd])", "")
    ]
    (tmp_path / name).write_bytes(b"(;B[dd])")  # a browser may unpack what it fetches
    assert [member.data for member in read(tmp_path / name)] == [b"(;B[dd])"]


def test_a_packed_tar_with_a_short_name_is_read(tmp_path):
    make_tar(tmp_path / "a.gz", FILES, "w:gz")
    assert [member.name for member in read(tmp_path / "a.gz")] == list(FILES)


@pytest.mark.parametrize("name", MAKERS)
def test_packed_games_in_archives_are_read(tmp_path, name):
    bomb = gzip.compress(bytes(5_000))
    files = {
        "a.sgf.gz": gzip.compress(b"(;B[dd])"),
        "b.sgf.gz": bomb,
        "c.sgf.gz": gzip.compress(b"(;B[dd])")[:-9],
        "d.txt.gz": bomb,
    }
    MAKERS[name](tmp_path / name, files)
    stats = ReadStats()
    members = read(tmp_path / name, Limits(max_member_bytes=1_000), stats)
    assert [(member.data, member.error.split(":")[0]) for member in members] == [
        (b"(;B[dd])", ""), (b"", "too large"), (b"", "damaged"),
    ]  # fmt: skip
    assert (stats.members, stats.errors, stats.nested) == (3, 2, 1)


def test_a_packed_file_of_many_games_is_cut_between_games(tmp_path):
    games = b"".join(b"(;GM[1]C[%d];B[dd])\n" % k for k in range(2_000))
    (tmp_path / "x.sgf.gz").write_bytes(gzip.compress(games))
    members = read(tmp_path / "x.sgf.gz", Limits(max_member_bytes=5_000))
    assert len(members) > 5 and b"".join(member.data for member in members) == games
    (tmp_path / "x.sgf.gz").write_bytes(gzip.compress(games)[:-500])
    members = read(tmp_path / "x.sgf.gz", Limits(max_member_bytes=5_000))
    assert members[-1].error.startswith("damaged") and games.startswith(
        b"".join(member.data for member in members)
    )


@pytest.mark.parametrize("behind", [b"\n", b"garbage", bytes(70_000) + b"x", b"\x1f"])
def test_bytes_behind_a_packed_game_cost_no_game(tmp_path, behind):
    """As for the program `gzip`; zeros alone are padding, and another member goes on."""
    packed = gzip.compress(b"(;B[dd])")
    (tmp_path / "x.sgf.gz").write_bytes(packed + bytes(3) + packed + behind)
    make_zip(tmp_path / "a.zip", {"x.sgf.gz": packed + bytes(3) + packed + behind})
    for name in ("x.sgf.gz", "a.zip"):
        (member,) = read(tmp_path / name)
        assert (member.data, member.error, member.mended) == (2 * b"(;B[dd])", "", TRAILING)
    (tmp_path / "x.sgf.gz").write_bytes(packed + bytes(70_000))
    assert [(member.data, member.mended) for member in read(tmp_path / "x.sgf.gz")] == [
        (b"(;B[dd])", "")
    ]
    (tmp_path / "x.sgf.gz").write_bytes(packed + packed[:-5])
    assert [member.error for member in read(tmp_path / "x.sgf.gz")] == [
        "damaged: it ends before its last byte"
    ]


def test_a_packed_bomb_is_refused_without_unpacking_it(tmp_path, monkeypatch):
    monkeypatch.setattr("data.sources.guard.RATIO_IS_JUDGED_FROM", 8 << 20)
    with gzip.open(tmp_path / "bomb.sgf.gz", "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    members = read(tmp_path / "bomb.sgf.gz", Limits(max_member_bytes=1 << 20, max_ratio=10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(member.error for member in members) and "times its size" in members[-1].error
    assert len(members) <= 2 and peak < 8 << 20
    members = read(
        tmp_path / "bomb.sgf.gz", Limits(max_member_bytes=1 << 20, max_total_bytes=10 << 20)
    )
    assert "10,485,760 bytes" in members[-1].error


def test_linked_folders_are_followed_once(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.sgf").write_bytes(b"(;B[dd])")
    os.symlink(root, root / "loop")
    (source,) = find_sources(str(root), tmp_path)
    assert source.files == ("a.sgf",)


def test_a_folder_of_many_files_is_found_quickly(tmp_path):
    for number in range(3_000):
        (tmp_path / f"{number}.sgf").touch()
    (source,) = find_sources(str(tmp_path), tmp_path)
    assert len(source.files) == 3_000 and list(source.files) == sorted(source.files)


def test_hashes_follow_contents_and_names(tmp_path):
    (tmp_path / "a.sgf").write_bytes(b"(;B[dd])")
    first = hash_source(find_sources(str(tmp_path), tmp_path)[0])
    assert first == hash_source(find_sources(str(tmp_path), tmp_path)[0])
    (tmp_path / "a.sgf").rename(tmp_path / "b.sgf")
    second = hash_source(find_sources(str(tmp_path), tmp_path)[0])
    (tmp_path / "b.sgf").write_bytes(b"(;B[de])")
    third = hash_source(find_sources(str(tmp_path), tmp_path)[0])
    assert len({first, second, third}) == 3
    (alone,) = find_sources(str(tmp_path / "b.sgf"), tmp_path)
    assert len(hash_source(alone)) == 64


# --- reading


@pytest.mark.parametrize("name", MAKERS)
def test_every_kind_of_archive_gives_its_games_in_its_order(tmp_path, name):
    files = {"readme.txt": b"hello", **FILES, "inner.zip": b"PK", "empty.SGF": b""}
    MAKERS[name](tmp_path / name, files)
    stats = ReadStats()
    members = read(tmp_path / name, stats=stats)
    found = {member.name: member.data for member in members}
    assert found == {**FILES, "empty.SGF": b""} and not any(member.error for member in members)
    in_order = [member.name for member in members if member.data]
    assert in_order == list(FILES), "the order of the archive"
    assert (stats.members, stats.errors, stats.skipped, stats.nested) == (4, 0, 2, 1)


@pytest.mark.parametrize("name", MAKERS)
def test_reading_writes_nothing_whatever_the_names_are(tmp_path, name, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    hostile = {
        "../up.sgf": b"(;B[aa])",
        "/root.sgf": b"(;B[bb])",
        "C:/x.sgf": b"(;B[cc])",
        "a/../../b.sgf": b"(;B[dd])",
    }
    if name == "a.7z":
        harmless = {f"{k}" * (len(key) - 4) + ".sgf": key for k, key in enumerate(hostile)}
        make_7z(tmp_path / name, {plain: hostile[key] for plain, key in harmless.items()})
        rename_in_7z(tmp_path / name, harmless)
    else:
        MAKERS[name](tmp_path / name, hostile)
    before = sorted(tmp_path.rglob("*"))
    members = read(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before
    assert {member.name: member.data for member in members} == hostile


def test_names_in_broken_encodings_become_text(tmp_path):
    raw = ["黑.sgf".encode("gb18030"), "黑白.sgf".encode(), b"\xff\xff.sgf"]
    with tarfile.open(
        tmp_path / "a.tar", "w", encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for name in raw:
            info = tarfile.TarInfo(name.decode("utf-8", "surrogateescape"))
            archive.addfile(info, io.BytesIO())
    names = [member.name for member in read(tmp_path / "a.tar")]
    assert names == ["黑.sgf", "黑白.sgf", "\\xff\\xff.sgf"]
    for name in raw[::2]:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"(;B[dd])")
    (tmp_path / "a.tar").unlink()
    assert {member.name for member in read(tmp_path)} == {names[0], names[2]}


def test_links_in_archives_are_not_followed(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("link.sgf")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert read(tmp_path / "a.tar") == []


def test_a_reader_that_stops_early_leaves_no_thread(tmp_path):
    # more than wait in the queue
    make_7z(tmp_path / "a.7z", {f"{k}.sgf": bytes(k) for k in range(1_000)})
    before = threading.active_count()
    (source,) = find_sources(str(tmp_path / "a.7z"), tmp_path)
    members = read_members(source, LIMITS)
    assert next(members).name == "0.sgf"
    members.close()
    assert threading.active_count() == before


# --- limits and damage


@pytest.mark.parametrize("name", MAKERS)
def test_a_member_too_large_is_named_and_the_others_go_on(tmp_path, name):
    MAKERS[name](
        tmp_path / name, {"a.sgf": b"(;B[dd])", "big.sgf": b"x" * 5_000, "c.sgf": b"(;B[pp])"}
    )
    members = read(tmp_path / name, Limits(max_member_bytes=1_000))
    assert [(member.name, len(member.data), member.error) for member in members] == [
        ("a.sgf", 8, ""),
        ("big.sgf", 0, "too large"),
        ("c.sgf", 8, ""),
    ]


@pytest.mark.parametrize("name", MAKERS)
def test_too_much_in_an_archive_is_refused(tmp_path, name):
    MAKERS[name](tmp_path / name, {f"{k}.sgf": b"(;B[dd])" * 50 for k in range(500)})
    _, text = read_until_error(tmp_path / name, Limits(max_total_bytes=100_000))
    assert "100,000 bytes" in text
    members, text = read_until_error(tmp_path / name, Limits(max_members=20))
    assert "more than 20 files" in text and len(members) <= 20


def test_a_bomb_is_refused_without_unpacking_it(tmp_path):
    with gzip.open(tmp_path / "a.tar.gz", "wb", compresslevel=1) as file:
        header = tarfile.TarInfo("bomb.sgf")
        header.size = 1 << 33
        file.write(header.tobuf())
        for _ in range(300):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    _, text = read_until_error(tmp_path / "a.tar.gz", Limits(max_ratio=10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "times its size" in text and peak < 32 << 20


def test_a_header_that_claims_gigabytes_is_refused(tmp_path):
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 32
    (tmp_path / "a.tar").write_bytes(header.tobuf() + bytes(10_240))
    _, text = read_until_error(tmp_path / "a.tar")
    assert "damaged" in text


@pytest.mark.parametrize("name", MAKERS)
def test_a_truncated_archive_gives_what_it_has_and_says_so(tmp_path, name):
    rng = random.Random(2)
    files = {f"{k}.sgf": b"(;C[" + rng.randbytes(3_000).hex().encode() + b"])" for k in range(100)}
    MAKERS[name](tmp_path / name, files)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) * 2 // 3])
    members, text = read_until_error(tmp_path / name)
    assert "damaged or incomplete after" in text
    assert all(member.data == files[member.name] for member in members if not member.error)
    if name in ("a.tar", "a.tar.gz", "a.tgz", "a.tar.xz", "a.tar.bz2"):
        # bzip2 gives a block of 900 kB or nothing
        assert (0 if "bz2" in name else 10) <= len(members) < 100


@pytest.mark.parametrize("name", MAKERS)
def test_no_damage_goes_unnoticed_or_raises_anything_else(tmp_path, name):
    rng = random.Random(3)
    files = {f"{k}.sgf": b"(;C[" + rng.randbytes(200).hex().encode() + b"])" for k in range(20)}
    MAKERS[name](tmp_path / name, files)
    data = (tmp_path / name).read_bytes()
    for _ in range(60):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 20)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        (tmp_path / name).write_bytes(broken)
        try:
            members = read(tmp_path / name)
        except SourceError as error:
            assert "\n" not in str(error)
            continue
        if name != "a.tar":  # the only one without checksums of contents
            assert all(
                files.get(member.name, member.data) == member.data
                for member in members
                if not member.error
            )


def test_a_tar_broken_in_the_middle_is_not_taken_for_a_short_one(tmp_path):
    make_tar(tmp_path / "a.tar", {f"{k}.sgf": b"(;B[dd])" for k in range(10)})
    data = bytearray((tmp_path / "a.tar").read_bytes())
    data[5 * 1024 + 150] ^= 0xFF  # in the checksum of the sixth header
    (tmp_path / "a.tar").write_bytes(data)
    members, _ = read_until_error(tmp_path / "a.tar")
    assert len(members) == 5


def test_a_name_that_is_empty_is_no_game(tmp_path):
    make_zip(tmp_path / "a.zip", {"x.sgf": b"(;B[dd])", "y.sgf": b"(;B[pp])"})
    data = bytearray((tmp_path / "a.zip").read_bytes())
    at = data.index(b"PK\x01\x02")
    struct.pack_into("<HHH", data, at + 28, 0, 5, 0)  # the name becomes an extra field
    struct.pack_into("<HHB", data, at + 46, 0x9999, 1, 0)
    (tmp_path / "a.zip").write_bytes(data)
    assert [member.name for member in read(tmp_path / "a.zip")] == ["y.sgf"]


def test_one_broken_member_of_a_zip_does_not_stop_the_others(tmp_path):
    make_zip(tmp_path / "a.zip", FILES, zipfile.ZIP_STORED)
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data.replace(b"game 1", b"gone 1", 1))
    members = read(tmp_path / "a.zip")
    assert [member.error[:7] for member in members] == ["", "damaged", ""] and members[
        1
    ].data == b""


def test_encrypted_archives_say_so(tmp_path):
    make_7z(tmp_path / "a.7z", FILES, password="go")
    assert "encrypted" in read_until_error(tmp_path / "a.7z")[1]
    make_zip(tmp_path / "a.zip", {"x.sgf": b"(;B[dd])"})
    data = bytearray((tmp_path / "a.zip").read_bytes())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + place] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    assert [member.error for member in read(tmp_path / "a.zip")] == ["encrypted"]


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_that_is_no_archive_is_told(tmp_path, name):
    (tmp_path / name).write_bytes(b"<html>404 not found</html>" * 100)
    members, _ = read_until_error(tmp_path / name)
    assert members == []


def test_a_misnamed_compression_is_read_all_the_same(tmp_path):
    make_tar(tmp_path / "plain.tar", FILES)
    data = (tmp_path / "plain.tar").read_bytes()
    for compress in (bytes, gzip.compress, bz2.compress, lzma.compress):
        (tmp_path / "a.tar.gz").write_bytes(compress(data))
        assert len(read(tmp_path / "a.tar.gz")) == 3


def test_a_long_file_of_many_games_is_cut_between_games(tmp_path):
    games = [f"(;GM[1]C[{k}];B[dd](;W[pp])(;W[dp]))\n".encode() for k in range(2_000)]
    (tmp_path / "many.sgf").write_bytes(b"".join(games))
    members = read(tmp_path / "many.sgf", Limits(max_member_bytes=5_000))
    assert b"".join(member.data for member in members) == b"".join(games)
    assert all(
        member.data.strip().startswith(b"(;GM[1]") and len(member.data) <= 5_000
        for member in members
    )
    assert members[1].name == "many.sgf@2" and not any(member.error for member in members)


def test_a_long_file_without_boundaries_is_too_large(tmp_path):
    (tmp_path / "x.sgf").write_bytes(b"(;" + b"B[dd];" * 5_000)
    assert [
        member.error for member in read(tmp_path / "x.sgf", Limits(max_member_bytes=5_000))
    ] == ["too large"]
    (tmp_path / "x.sgf").write_bytes(b"(;" + b"B[dd];" * 5_000 + b")" + b"(;GM[1];B[pp])" * 2)
    members = read(tmp_path / "x.sgf", Limits(max_member_bytes=5_000))
    assert [(member.data, member.error) for member in members] == [
        (b"", "too large"),
        (b"(;GM[1];B[pp])" * 2, ""),
    ]


def test_a_loose_file_that_cannot_be_read_does_not_stop_the_others(tmp_path):
    (tmp_path / "a.sgf").write_bytes(b"(;B[dd])")
    source = Source(tmp_path, "x", "folder", 8, ("a.sgf", "gone.sgf"))
    assert [member.error != "" for member in read_members(source, LIMITS)] == [False, True]
    with pytest.raises(SourceError, match="cannot be read"):
        hash_source(source)


@pytest.mark.skipif(not GAMES.is_dir(), reason="needs the collected games")
def test_the_collected_archives_are_whole():
    stats = {}
    for source in find_sources(str(GAMES), Path.cwd()):
        # the others are read by slow tests
        if source.kind != "tar" and not source.path.name.endswith(".001"):
            stats[source.label] = ReadStats()
            assert all(
                member.data.startswith(b"(;")
                for member in read_members(source, LIMITS, stats[source.label])
            )
    assert [stat.members for stat in stats.values()] == [216, 9_669]
