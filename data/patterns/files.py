"""Files of pattern weights: one safetensors file, plain numbers behind a JSON header.

Nothing in it is ever run.

    weights   float32 [n]     number 0 is no feature; vocabulary.py says where each slot's begin
    arounds, responses, shapes   int64   the words that they are for

The header's metadata hold `about`, JSON: kind (rollout or tree), size of the board that was
learned on, and how it was trained; and `sha256`, the checksum of that and of the arrays.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from data.base.atomic import replacing
from data.base.errors import first_line
from data.patterns.codes import AROUND_CODES
from data.patterns.vocabulary import KINDS, PatternError, Words, as_arrays, first_of_slots

FORMAT = "LambdaGo patterns"
SCHEMA = 2
OLDER = (1,)  # schemas that are read, too: files without a checksum
# arrays of the vocabulary, and the first number that is no code of each
WORDS = {"arounds": AROUND_CODES, "responses": 1 << 43, "shapes": 1 << 38}
# what safetensors, JSON and NumPy raise for damaged files
UNREADABLE = (SafetensorError, OSError, ValueError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class PatternWeights:
    kind: str
    words: Words
    weights: np.ndarray
    about: dict[str, Any] = field(default_factory=dict)


def write_patterns(path: Path, patterns: PatternWeights) -> None:
    about = {**patterns.about, "format": FORMAT, "schema": SCHEMA, "kind": patterns.kind}
    arrays = {"weights": patterns.weights.astype(np.float32), **as_arrays(patterns.words)}
    content = save(arrays, {"about": json.dumps(about), "sha256": checksum(about, arrays)})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def checksum(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}\n".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def read_patterns(path: str | Path) -> PatternWeights:
    """Read a file of pattern weights. Raises `PatternError` in one line for anything wrong."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise PatternError(f"{path}: there is no such file of pattern weights")
    about, arrays = read_arrays(path)
    check_about(path, about)
    words = read_words(path, arrays)
    weights = arrays["weights"]
    count = first_of_slots(about["kind"], words.sizes())[-1]
    if weights.dtype != np.float32 or weights.shape != (count,):
        raise PatternError(
            f"{path}: its weights are {weights.dtype} {weights.shape}, "
            "not one float32 for each of its patterns"
        )
    if not np.isfinite(weights).all():
        raise PatternError(f"{path}: some of its weights are no numbers")
    return PatternWeights(about["kind"], words, weights, about)


def read_arrays(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what the file says about itself and its arrays, once its checksum is compared."""
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            about = json.loads(metadata.get("about", "{}"))
            if not isinstance(about, dict) or about.get("format") != FORMAT:
                raise PatternError(f"{path}: not pattern weights of this project")
            if (schema := about.get("schema")) != SCHEMA and schema not in OLDER:
                raise PatternError(
                    f"{path}: pattern weights of schema {schema!r}, "
                    f"this program reads {SCHEMA}; train again"
                )
            names = list(file.keys())
            arrays = {name: file.get_tensor(name) for name in names}
    except PatternError:
        raise
    except UNREADABLE as error:
        raise PatternError(
            f"{path}: not a readable file of weights, perhaps cut off ({first_line(error)})"
        ) from None
    signed = schema == SCHEMA or "sha256" in metadata
    if signed and metadata.get("sha256") != checksum(about, arrays):
        raise PatternError(f"{path}: damaged, another checksum than when it was written")
    if set(arrays) != {"weights", *WORDS}:
        raise PatternError(
            f"{path}: holds {', '.join(sorted(arrays))}; weights, {', '.join(WORDS)} are expected"
        )
    return about, arrays


def check_about(path: Path, about: dict[str, Any]) -> None:
    """Raise `PatternError` if the facts about the weights are no facts."""
    if not isinstance(about.get("kind"), str) or about["kind"] not in KINDS:
        raise PatternError(
            f"{path}: kind {about.get('kind')!r}; one of {', '.join(KINDS)} is expected"
        )
    if type(about.get("size", 19)) is not int or not 2 <= about.get("size", 19) <= 19:
        raise PatternError(
            f"{path}: learned on boards of size {about['size']!r}; 2 to 19 are possible"
        )
    compute = about.get("compute", {})
    share = compute.get("held_out") if isinstance(compute, dict) else "?"
    if share is not None and not (isinstance(share, int | float) and 0 <= share <= 1):
        raise PatternError(f"{path}: compute does not tell a share of all games as held_out")


def read_words(path: Path, arrays: dict[str, np.ndarray]) -> Words:
    """Return the vocabulary. Raises `PatternError` unless its codes are sorted and smallest."""
    for name, limit in WORDS.items():
        codes = arrays[name]
        if codes.dtype != np.int64 or codes.ndim != 1:
            in_order = False
        else:
            inside = (codes >= 0) & (codes < limit)
            in_order = bool((np.diff(codes) > 0).all() and inside.all())
        if not in_order:
            raise PatternError(f"{path}: its {name} are not codes of patterns in order")
    words = Words(*(arrays[name] for name in WORDS))
    if not words.are_smallest():
        raise PatternError(
            f"{path}: some of its patterns are not the smallest of their images, "
            "and would never be found"
        )
    return words
