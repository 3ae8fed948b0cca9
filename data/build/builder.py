"""From archives to one HDF5 file, in steps that can be stopped anywhere: `build`.

    1. read      read.py      sources stream by; blocks of their files become parts of games
    2. plan      plan.py      duplicates drop out; every game gets its place, every position its row
    3. encode    encode.py    ranges of rows become parts of positions
    4. assemble  assemble.py  games are copied, compressed chunks go in; one rename makes the file

Parts lie in `<output>.parts/` (see `work_folder.py`) and exist whole or not at all. A build uses
those that are there, so the same command goes on after any interruption. Parts depend on sources,
options and code alone (see `manifest.py`), so the result is the same, byte for byte in its
datasets.
"""

import time
from pathlib import Path
from typing import Any

from data.base import digests, interrupts
from data.base.text import count_of
from data.build.assemble import assemble
from data.build.encode import encode_positions
from data.build.manifest import compare_with_finished, make_manifest
from data.build.options import BuildError, BuildOptions
from data.build.parts import Progress
from data.build.plan import check_space, make_plan
from data.build.read import confirm_sources, read_sources
from data.build.report import BadInput, Rejects, make_report, read_report, write_report
from data.build.warm_up import prepare_kernels
from data.build.work_folder import WorkFolder, report_path, work_folder
from data.sources import find
from data.sources.file_kinds import PassedOver
from data.sources.find import Source

Report = dict[str, Any]


def build(options: BuildOptions, progress: Progress) -> Report:
    """Make the dataset and its report, and return the report; a finished one is left alone."""
    passed = PassedOver()
    sources = find.find_sources(list(options.sources), Path.cwd(), passed)
    progress.say(f"{count_of(len(sources), 'source')}: {describe_sources(sources)}")
    for line in passed.describe():
        progress.say(line)
    if options.output.exists() and not options.overwrite:
        return find_finished(options, sources, progress)
    started = time.perf_counter()
    compiling = prepare_kernels(progress, options.features)
    with interrupts.held(), WorkFolder(options.output) as folder:
        # another build may have finished in the meantime
        if options.overwrite or not options.output.exists():
            rejects, resumed = make(options, sources, passed, folder, progress)
            seconds = time.perf_counter() - started
            report = make_report(folder.whole, rejects, seconds, compiling, resumed)
            write_report(folder.report, report)
            interrupts.check()
            folder.publish()
            return report
    return find_finished(options, sources, progress)


def make(
    options: BuildOptions,
    sources: list[Source],
    passed: PassedOver,
    folder: WorkFolder,
    progress: Progress,
) -> tuple[Rejects, bool]:
    """Do the four steps in the work folder.

    Returns what was left out, and whether an earlier build had begun.
    """
    manifest = make_manifest(options, sources)
    folder.prepare(manifest, options.overwrite)
    if folder.resumed:
        progress.say(f"going on from what is finished in {folder.path}")
    parts, stats = read_sources(options, sources, folder, progress)
    confirm_sources(options, sources, manifest)
    plan, rejects = make_plan(parts, options, progress)
    rejects.add_passed_over(stats, passed)
    refuse_bad_input(options, rejects)
    if not len(plan.part):
        folder.remove()  # another attempt will have other options
        raise BuildError(f"no game is left of {rejects.seen:,} seen: {rejects.summary()}")
    check_space(options, plan, folder, progress)
    encoded = encode_positions(options, plan, rejects.dropped, folder, progress)
    assemble(options, plan, encoded, manifest["sources"], folder, progress)
    return rejects, folder.resumed


def refuse_bad_input(options: BuildOptions, rejects: Rejects) -> None:
    """Raise `BadInput` if too many games were rejected, and leave a report of them."""
    try:
        rejects.check_rate(options.max_reject_rate)
    except BadInput as error:
        write_report(report_path(options.output), rejects.failure())
        raise BadInput(f"{error}; examples are in {report_path(options.output)}") from None


def find_finished(options: BuildOptions, sources: list[Source], progress: Progress) -> Report:
    """Return the report of the finished dataset.

    Raises `BuildError` unless it was made from the same sources and options and is undamaged.
    """
    output = options.output
    manifest = make_manifest(options, sources)
    made_with = compare_with_finished(output, manifest)
    if work_folder(output).exists():
        with interrupts.held(), WorkFolder(output) as folder:
            folder.finish(manifest)
    if change := digests.find_change(output):
        raise BuildError(f"{output}: {change}; overwrite=true makes it again")
    report = read_report(report_path(output))
    if report is None:
        what = f"{report_path(output).name} beside it is gone or has changed"
        raise BuildError(f"{output} is complete, but {what}; overwrite=true makes both again")
    given_up = report["dropped"].get("unreadable file", {}).get("games", 0)
    if given_up and options.damaged == "stop" and made_with["damaged"] == "keep":
        progress.say(
            f"made with damaged=keep: {given_up:,} files or archives could not be read; "
            "overwrite=true tries them again"
        )
    progress.say(f"{output} is complete and made from the same sources and options: nothing to do")
    return report


def describe_sources(sources: list[Source]) -> str:
    names = ", ".join(source.label for source in sources[:6])
    return names + (f" and {len(sources) - 6} more" if len(sources) > 6 else "")
