"""The files of an evaluation: metrics.json, a table for each kind of net, and comparison.md."""

import json
from pathlib import Path
from typing import Any

from data.base.atomic import write_text
from pipelines.evaluating.evaluation import Result
from pipelines.evaluating.report import csv_of, markdown

SUFFIXES = (".json", ".csv", ".md", ".png")


def write(result: Result, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(without_nan(result), indent=1, allow_nan=False) + "\n"
    write_text(output / "metrics.json", text)
    write_text(output / "comparison.md", markdown(result))
    for kind in ("policy", "value"):
        if nets := [net for net in result["nets"] if net["kind"] == kind]:
            write_text(output / f"{kind}.csv", csv_of(nets))


def without_nan(value: Any) -> Any:
    """Return the value with None in place of NaN, which JSON lacks."""
    if isinstance(value, dict):
        return {key: without_nan(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value
