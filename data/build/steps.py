"""The steps that all builds share, wherever their games come from: `make_dataset`.

A `Supply` makes the parts of games and the plan. Everything else is done here: the lock, the
manifest, encoding, assembling, the report, publishing, and what to do with a file that is there.
`builder.py` has the supply of archives; `pipelines/selfplay` has one of games that are played.
"""

import time
from pathlib import Path
from typing import Any, Protocol

from data.base import digests, interrupts
from data.build.assemble import assemble
from data.build.encode import encode_positions
from data.build.manifest import Manifest, compare_with_finished
from data.build.options import BuildError, FileOptions
from data.build.parts import Progress
from data.build.plan import Plan, check_space
from data.build.report import Rejects, make_report, read_report, write_report
from data.build.warm_up import prepare_kernels
from data.build.work_folder import WorkFolder, path_beside, report_path, work_folder

Report = dict[str, Any]


class Supply(Protocol):
    """Where the games of a build come from."""

    @property
    def config(self) -> dict[str, Any]:
        """The configuration as plain values. The file stores it."""
        ...

    @property
    def files_beside(self) -> tuple[str, ...]:
        """The names of the files that `write_beside` writes; `work_folder.BESIDE` lists all."""
        ...

    def manifest(self) -> Manifest:
        """Return all that the parts and the file depend on."""
        ...

    def collect(
        self, manifest: Manifest, folder: WorkFolder, progress: Progress
    ) -> tuple[Plan, Rejects]:
        """Make the parts of games that are missing, and plan the file."""
        ...

    def write_beside(self, name: str, dataset: Path, path: Path) -> None:
        """Write the file `name` of `files_beside`, which follows from the finished dataset."""
        ...

    def find_foreign(self, name: str, path: Path, dataset: Path | None) -> str:
        """Return why the file at `path` is not what `write_beside` writes, or ''.

        The words follow the name of the file. Without a dataset, which is not made yet, a file of
        another dataset by the same recipe is fine.
        """
        ...

    def more(self, rejects: Rejects, folder: WorkFolder) -> Report:
        """Return the entries of the report that only this kind of supply has."""
        ...

    def remark(self, report: Report, made_with: dict[str, Any]) -> str:
        """Return what to tell about a finished file that is left alone, or ''."""
        ...


def make_dataset(options: FileOptions, supply: Supply, progress: Progress) -> Report:
    """Make the dataset and its report, and return the report; a finished one is left alone."""
    if options.output.exists() and not options.overwrite:
        return find_finished(options, supply, progress)
    started = time.perf_counter()
    compiling = prepare_kernels(progress, options.features)
    with interrupts.held(), WorkFolder(options.output, supply.files_beside) as folder:
        # another build may have finished in the meantime
        if options.overwrite or not options.output.exists():
            refuse_foreign(options, supply)
            rejects = make(options, supply, folder, progress)
            seconds = time.perf_counter() - started
            report = make_report(folder.whole, rejects, seconds, compiling, folder.resumed)
            report |= supply.more(rejects, folder)
            for name in supply.files_beside:
                supply.write_beside(name, folder.whole, folder.made_beside(name))
            write_report(folder.report, report)
            refuse_foreign(options, supply)  # another build may have published one since
            interrupts.check()
            folder.publish()
            return report
    return find_finished(options, supply, progress)


def make(options: FileOptions, supply: Supply, folder: WorkFolder, progress: Progress) -> Rejects:
    """Do the four steps in the work folder, and return what was left out."""
    manifest = supply.manifest()
    folder.prepare(manifest, options.overwrite)
    if folder.resumed:
        progress.say(f"going on from what is finished in {folder.path}")
    plan, rejects = supply.collect(manifest, folder, progress)
    if not len(plan.part):
        folder.remove()  # another attempt will have other options
        raise BuildError(f"no game is left of {rejects.seen:,} seen: {rejects.summary()}")
    check_space(options, plan, folder, progress)
    encoded = encode_positions(options, plan, rejects.dropped, folder, progress)
    assemble(options, plan, encoded, supply.config, manifest["sources"], folder, progress)
    return rejects


def refuse_foreign(options: FileOptions, supply: Supply) -> None:
    """Raise `BuildError` for a file beside the output that is not ours, unless it may go."""
    for name in supply.files_beside:
        path = path_beside(options.output, name)
        if options.overwrite or not path.exists():
            continue
        if problem := supply.find_foreign(name, path, None):
            raise BuildError(
                f"{path} {problem}: move it away, name another output, or say overwrite=true"
            )


def find_finished(options: FileOptions, supply: Supply, progress: Progress) -> Report:
    """Return the report of the finished dataset.

    Raises `BuildError` unless it was made from the same sources and options and is undamaged, and
    the files beside it are its own. Those that are missing are made again.
    """
    output = options.output
    manifest = supply.manifest()
    made_with = compare_with_finished(output, manifest)
    if work_folder(output).exists():
        with interrupts.held(), WorkFolder(output, supply.files_beside) as folder:
            folder.finish(manifest)
    if change := digests.find_change(output):
        raise BuildError(f"{output}: {change}; overwrite=true makes it again")
    report = read_report(report_path(output))
    if report is None:
        what = f"{report_path(output).name} beside it is gone or has changed"
        raise BuildError(f"{output} is complete, but {what}; overwrite=true makes both again")
    for name in supply.files_beside:
        path = path_beside(output, name)
        if not path.exists():
            progress.say(f"{path.name} is gone; it is made again")
            supply.write_beside(name, output, path)
        elif problem := supply.find_foreign(name, path, output):
            raise BuildError(
                f"{path} {problem}: move it away, and this command makes the right one"
            )
    if remark := supply.remark(report, made_with):
        progress.say(remark)
    progress.say(f"{output} is complete and made from the same sources and options: nothing to do")
    return report
