"""Step 4 of a build: the whole file from its parts.

Games are copied column by column, and compressed chunks of positions go in as they are. The file
stays in the work folder; `WorkFolder.publish` gives it its name.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from data.base import interrupts
from data.base.version import version
from data.build.options import FileOptions
from data.build.parts import Progress
from data.build.plan import Plan
from data.build.work_folder import WorkFolder
from data.dataset import game_table, layout, plain
from data.dataset.layout import FLAT_COLUMNS, GAME_COLUMNS, POSITION_COLUMNS, SETUP_COLUMNS
from data.hdf5.new_file import new_file


def assemble(
    options: FileOptions,
    plan: Plan,
    encoded: list[Path],
    config: dict[str, Any],
    sources: Any,
    folder: WorkFolder,
    progress: Progress,
) -> None:
    """Write the file; it says `config` and the `sources` of the manifest about itself."""
    splits = plan.bounds()
    first_row = plan.first_row.tolist()
    rows = {name: (first_row[a], first_row[z]) for name, (a, z) in splits.items()}
    progress.begin("assembling", plan.positions, "positions")
    with new_file(folder.whole) as new:
        layout.write_identification(
            new.file,
            size=options.size,
            layout=options.layout,
            config=config,
            sources=sources,
            version=version(),
            features=options.features,
            passes=options.passes,
        )
        new.file.attrs["split_games"] = json.dumps(splits)
        new.file.attrs["split_rows"] = json.dumps(rows)
        for _ in copy_games(new.file.create_group("games"), plan):
            new.check()
        if options.layout == "plain":
            augment = options.augment == "all"
            copies = plain.write(new.file, rows, options.size, options.features, encoded, augment)
        else:
            positions = new.file.create_group("positions")
            layout.create_positions(
                positions, plan.positions, options.size, options.level, options.features
            )
            copies = copy_positions(positions, encoded)
        for copied in copies:
            new.check()
            progress.advance(copied)
    progress.end()


def copy_games(group: h5py.Group, plan: Plan) -> Iterator[int]:
    """Copy all kept games, a run of one part at a time: memory does not grow with their number.

    Yields how many are done.
    """
    moves, changes = count_flat(plan)
    flat = ((FLAT_COLUMNS, moves), (SETUP_COLUMNS, changes))
    for name, dtype in GAME_COLUMNS.items():
        layout.create_column(group, name, len(plan.part), dtype)
    for columns, total in flat:
        for name, dtype in columns.items():
            layout.create_column(group, name, int(total[-1]), dtype)
    offsets = {"offset": moves, "setup_offset": changes, "first_row": plan.first_row}
    for name, values in offsets.items():
        layout.create_column(group, name, len(values), np.int64)[:] = values
    at = 0
    for path, chosen in plan.pieces(0, len(plan.part)):
        with h5py.File(path, "r", locking=False) as file:
            table = game_table.select(game_table.read(file["games"]), chosen)
        stop = at + len(chosen)
        for name in GAME_COLUMNS:
            group[name][at:stop] = table[name]
        for columns, total in flat:
            for name in columns:
                if total[stop] > total[at]:
                    group[name][total[at] : total[stop]] = table[name]
        at = stop
        yield at


def count_flat(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Where each game's moves, and its set-up changes, begin in the flat columns.

    Both are int64 [games + 1].
    """
    moves, changes = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    for path, chosen in plan.pieces(0, len(plan.part)):
        interrupts.check()
        with h5py.File(path, "r", locking=False) as file:
            moves.append(np.diff(file["games"]["offset"][:])[chosen])
            changes.append(np.diff(file["games"]["setup_offset"][:])[chosen])
    return np.cumsum(np.concatenate(moves)), np.cumsum(np.concatenate(changes))


def copy_positions(group: h5py.Group, encoded: list[Path]) -> Iterator[int]:
    """Put compressed chunks in place as they are: every part but the last holds whole chunks.

    Yields rows as they are done.
    """
    at = 0
    for path in encoded:
        with h5py.File(path, "r", locking=False) as file:
            part = file["planes"]
            for index in range(part.id.get_num_chunks()):
                offset = part.id.get_chunk_info(index).chunk_offset
                mask, chunk = part.id.read_direct_chunk(offset)
                group["planes"].id.write_direct_chunk((at + offset[0], 0, 0), chunk, mask)
            for name in POSITION_COLUMNS:
                group[name][at : at + len(part)] = file[name][:]
            at += len(part)
            yield len(part)
