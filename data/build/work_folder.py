"""The folder `<output>.parts/`: what a build has finished so far, and what it was made from.

    lock                         held by the build that is at work
    manifest.json                all that the parts depend on: see `manifest.py`
    games-<stamp>-00012.h5       parts of games
    positions-<stamp>-00034.h5   parts of positions
    whole-<stamp>.h5             the dataset, before it gets its name
    report-<stamp>.json          the report, before it gets its name
    owners-<stamp>.h5            likewise a file that stands beside the dataset: see BESIDE

The stamp is a hash of the manifest. So a file made from something else is never taken for a part,
not even one that a worker writes after its build has ended. The stamp of parts leaves out how many
games are wanted, so that a build may go on with another number of them.
"""

import contextlib
import json
import re
from pathlib import Path

from data.base import atomic, digests, locks
from data.build.manifest import Manifest, for_parts, refuse_difference, stamp_of
from data.build.options import BuildError
from data.build.report import read_report

# the names of files that a build may remove
OURS = re.compile(
    r"(games|positions|whole|report|owners)-[0-9a-f]{10}[-.].*|\.tmp-.*|manifest\.json|lock"
)
OWNERS = "owners"
# files that a build may make beside its dataset, with the ends of their names
BESIDE = {OWNERS: ".owners.h5"}


def work_folder(output: Path) -> Path:
    return output.with_name(output.name + ".parts")


def report_path(output: Path) -> Path:
    return output.with_name(output.name + ".report.json")


def path_beside(output: Path, name: str) -> Path:
    """Where a file of BESIDE stands: a.owners.h5 beside a.h5, a.9x9.owners.h5 beside a.9x9."""
    stem = output.stem if output.suffix == ".h5" else output.name
    return output.with_name(stem + BESIDE[name])


class WorkFolder:
    """A `with` block holds the folder for one build. Call `prepare` first.

    `beside` are the names of those files of BESIDE that the build makes.

    Raises `BuildError` if another build holds it, or if it can't be made.
    """

    def __init__(self, output: Path, beside: tuple[str, ...] = ()):
        self.output = output
        self.beside = beside
        self.path = work_folder(output)
        self.stamp = ""  # of parts
        self.whole_stamp = ""  # of all other files
        self.resumed = False

    def __enter__(self) -> "WorkFolder":
        while True:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                lock = locks.hold(self.path / "lock")
            except OSError as error:
                if self.was_removed(error):
                    continue
                why = error.strerror or type(error).__name__
                raise BuildError(
                    f"output={self.output}: nothing can be written in {self.output.parent} ({why})"
                ) from None
            if lock is None:
                raise BuildError(
                    f"{self.path}: another build is writing there; "
                    "wait for it, or name another output"
                )
            self.lock = lock
            return self

    def was_removed(self, error: OSError) -> bool:
        """Whether a build that just ended took the folder away before its lock was opened."""
        return (
            isinstance(error, FileNotFoundError)
            and self.path.parent.is_dir()
            and error.filename != str(self.path)
        )

    def __exit__(self, *_: object) -> None:
        if self.path.exists() and not any(self.path.glob("*.h5")):
            self.remove()  # nothing is worth keeping
        self.lock.close()

    def prepare(self, manifest: Manifest, overwrite: bool) -> None:
        """Keep parts that were made from the same manifest, and remove all other files.

        Raises `BuildError` if the parts are to be made from something else than those that are
        there, unless `overwrite` is set.
        """
        found = self.manifest()
        if found is not None and not overwrite:
            refuse_difference(self.path, for_parts(found), for_parts(manifest))
        self.set_stamps(manifest)
        for entry in self.entries():
            ours = self.stamp in entry.name or self.whole_stamp in entry.name
            if entry.name != "lock" and (not ours or entry.name.startswith(atomic.PREFIX)):
                entry.unlink(missing_ok=True)
        self.resumed = any(self.path.glob("*.h5"))
        atomic.write_text(self.path / "manifest.json", json.dumps(manifest, indent=1) + "\n")

    def set_stamps(self, manifest: Manifest) -> None:
        self.stamp, self.whole_stamp = stamp_of(for_parts(manifest)), stamp_of(manifest)

    def manifest(self) -> Manifest | None:
        try:
            return dict(json.loads((self.path / "manifest.json").read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError):
            return None  # none, or a damaged one: nobody can tell what the parts were made from

    def games(self, part: int) -> Path:
        return self.path / f"games-{self.stamp}-{part:05d}.h5"

    def positions(self, part: int) -> Path:
        return self.path / f"positions-{self.stamp}-{part:05d}.h5"

    @property
    def whole(self) -> Path:
        return self.path / f"whole-{self.whole_stamp}.h5"

    @property
    def report(self) -> Path:
        return self.path / f"report-{self.whole_stamp}.json"

    def made_beside(self, name: str) -> Path:
        """A file of BESIDE, before it gets its name."""
        return self.path / f"{name}-{self.whole_stamp}.h5"

    def publish(self) -> None:
        """Give the finished file and those beside it their names, and clear everything else away.

        The dataset comes first. If this is stopped in between, the same command finds the dataset
        and calls `finish`; and files of a new dataset never stand beside the one it replaces.
        """
        files = [(self.whole, self.output)]
        files += [(self.made_beside(name), path_beside(self.output, name)) for name in self.beside]
        for made, final in [*files, (self.report, report_path(self.output))]:
            if made.exists():
                made.replace(final)
        atomic.sync_folder(self.output.parent)
        self.remove()

    def remove(self) -> None:
        for entry in self.entries():
            entry.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # other files lie there
            self.path.rmdir()

    def entries(self) -> list[Path]:
        return [entry for entry in self.path.iterdir() if OURS.fullmatch(entry.name)]

    def finish(self, manifest: Manifest) -> None:
        """Complete a `publish` that was stopped: the output has its name already.

        The files of a build with another manifest are left alone.
        """
        if self.manifest() == manifest:
            self.set_stamps(manifest)
            for made in (self.whole, *map(self.made_beside, self.beside)):
                if made.exists() and digests.find_change(made):
                    made.unlink()
            if read_report(self.report) is None:
                self.report.unlink(missing_ok=True)
            self.publish()
