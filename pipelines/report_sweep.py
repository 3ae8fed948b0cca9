"""The table and the chart of a sweep once more: `python pipelines/report_sweep.py FOLDER`."""

import sys
from pathlib import Path

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from pipelines.shell.environment import start_of_command
from pipelines.sweeping.jobs import JOB_FILE, SweepError, read_jobs
from pipelines.sweeping.tables import report

HELP = """{command} FOLDER

The jobs of a sweep (train_model.py -m ...), the best first: on the terminal, and in FOLDER as
sweep.csv, sweep.md and sweep.png. While the sweep is under way it shows how far that has come."""


def main() -> None:
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(HELP.format(command=" ".join(start_of_command("report_sweep"))))
        return
    try:
        if len(arguments) != 1:
            raise SweepError("say one folder, that of a sweep (--help)")
        folder = Path(arguments[0]).expanduser().absolute()
        jobs = read_jobs(folder)
        if not jobs:
            raise SweepError(f"{arguments[0]}: no folder of a sweep, it has no */{JOB_FILE}")
        report(folder, jobs)
    except (SweepError, OSError) as error:
        print(f"report_sweep: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
