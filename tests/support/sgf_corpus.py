"""Broken SGF by the thousand: records of random moves, damaged in the ways that files are damaged.

Everything is made here from a seed; no game of anyone is in it. `generate_corpus(count, seed)` is
the whole interface.
"""

import random
from collections.abc import Iterator

ROOTS = (
    b"FF[4]GM[1]SZ[19]KM[6.50]RE[W+Resign]",
    b"GM[1]FF[4]  SZ[19]  GN[]  PB[\xe6\x9f\x8a?\x8c]KM[0]HA[3]AP[GNU Go:3.8]RE[draw]AP[foxwq]",
    b"FF[3]GaMe[1]SiZe[19]PlayerBlack[x\\]y]KoMi[5.5]",
    b"CA[GBK]PB[\xb9\xc5\xc1\xa6\x5c]PW[\x95\x5c]SZ[19]HA[2]AB[pd][dp]",
    b"SZ[19:19]C[a comment with (;GM[1\\] in it]",
    b"SZ[9]",
    b"",
)
EXTRAS = (
    b"",
    b"",
    b"",
    b"C[good move \\] here]",
    b"BL[12.5]OB[3]",
    b"(;C[x])",
    b"AE[aa:cc]",
    b"AW[qq][rr]PL[W]",
    b"\r\n ",
)
SPLICES = (
    b"(;", b")", b"]", b"[", b"\\", b";", b"B[]", b"B[tt]", b"W[zz]", b"B[a]", b"AB[aa:zz]", b"KM[", b"SZ[0]",
    b"GM[2]", b"HA[99]", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"B[aa]W[bb]", b"B[aa][bb]", b"(;GM[1]SZ[19];B[dd])",
)  # fmt: skip


def generate_corpus(count: int, seed: int) -> Iterator[bytes]:
    """`count` inputs, the same for the same seed: whole records, damaged ones, and things that are
    no records.
    """
    rng = random.Random(seed)
    for number in range(count):
        data = b"".join(
            make_game(rng) for _ in range(1 if rng.random() < 0.8 else rng.randint(2, 4))
        )
        for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
            data = rng.choice(MUTATIONS)(rng, data)
        yield make_giant(rng) if number % 500 == 499 else data


def make_game(rng: random.Random, length: int = 0) -> bytes:
    moves = []
    colour = rng.random() < 0.8
    for _ in range(length or rng.randint(0, 40)):
        point = bytes(rng.choices(b"abcdefghijklmnopqrs", k=2)) if rng.random() < 0.98 else b""
        extra = rng.choice(EXTRAS) if rng.random() < 0.1 else b""
        moves.append(b";%c[%s]%s" % (b"B"[0] if colour else b"W"[0], point, extra))
        colour = not colour if rng.random() < 0.98 else colour
    return b"(;" + rng.choice(ROOTS) + b"".join(moves) + b")"


def make_giant(rng: random.Random) -> bytes:
    size = rng.randint(10_000, 60_000)
    return rng.choice(
        (
            b"(;" * size,
            b"(;B[aa]" * size,
            b"(;C[" + b"x" * size * 4 + b"];B[aa])",
            b"(;SZ[19]AB" + b"[aa:ss]" * (size // 100) + b";W[aa])",
            b"(;" + b";B[aa];W[bb]" * size + b")",
            b"[" * size,
            b"(;GM[1])" * (size // 10),
            b"(" * size + b";B[aa]" + b")" * size,
            b"(;KM[" + b"9" * size + b"]HA[" + b"9" * size + b"]SZ[19];B[aa])",
            b"(;PB[\x81\\]" * (size // 10),
            rng.randbytes(size),
        )
    )


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randint(0, len(data))]


def behead(rng: random.Random, data: bytes) -> bytes:
    return data[rng.randint(0, min(len(data), 40)) :]


def splice(rng: random.Random, data: bytes) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.choice(SPLICES) + data[place:]


def delete(rng: random.Random, data: bytes) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + data[place + rng.randint(1, 30) :]


def repeat(rng: random.Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    return (
        data[:start] + data[start : start + rng.randint(1, 50)] * rng.randint(2, 20) + data[start:]
    )


def cross(rng: random.Random, data: bytes) -> bytes:
    other = make_game(rng)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def add_junk(rng: random.Random, data: bytes) -> bytes:
    place = rng.randint(0, len(data))
    return data[:place] + rng.randbytes(rng.randint(1, 60)) + data[place:]


def nest(rng: random.Random, data: bytes) -> bytes:
    depth = rng.randint(2, 300)
    return b"(;C[deep]" * depth + data + b")" * rng.randint(0, depth)


MUTATIONS = (
    flip_bits,
    flip_bits,
    truncate,
    behead,
    splice,
    splice,
    delete,
    repeat,
    cross,
    add_junk,
    nest,
)
