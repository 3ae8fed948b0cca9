"""Write a trained net as safetensors, ONNX and int8 ONNX, with a card.

A net that was exported before may be exported again from its card, into other formats or by a
newer program. Of several nets that began with the same weights the mean is exported.
"""

import json
import time
from pathlib import Path
from typing import Any

from pipelines.shell import environment  # noqa: F401  (first: finds the project)

# isort: split
from omegaconf import DictConfig

from models.exporting.parity import figures
from models.files.open import is_of_patterns
from pipelines.exporting.nets import Exported, export_net
from pipelines.exporting.options import Options
from pipelines.exporting.patterns import ExportedPatterns, export_patterns
from pipelines.shell.configuration import plain
from pipelines.shell.console import bold, clock, console, make_table
from pipelines.shell.options import read
from pipelines.shell.path_keys import command
from pipelines.shell.script import script


def run(cfg: DictConfig) -> dict[str, Any]:
    """Write the files, compare them, and return the card with the comparison."""
    options = read(Options, plain(cfg))
    began = time.monotonic()
    first, *others = options.paths
    if not others and first.suffix == ".ckpt" and is_of_patterns(first):
        policy = export_patterns(options, first)
        show_patterns(policy)
        return {"about": policy.about, "files": {"weights": str(policy.path)}}
    with console.status("writing and comparing"):
        made = export_net(options)
    show(made, time.monotonic() - began)
    return {
        "card": json.loads(made.card.to_json()),
        "parity": made.parity,
        "files": {kind: str(path) for kind, path in made.paths.items()},
    }


def show(made: Exported, seconds: float) -> None:
    card, path = made.card, made.paths["card"]
    names = list(dict.fromkeys(name for line in made.parity for name in figures(line)))
    several = len(card.answers) > 1
    rows = [
        [
            line["file"],
            str(line["batch"]),
            *[line["answer"]] * several,
            *(figure(name, line[name]) if name in line else "" for name in names),
            f"{line['speed']:,.0f}",
        ]
        for line in made.parity
    ]
    heads = [
        "file",
        "batch",
        *["answer"] * several,
        *(name.replace("_", " ") for name in names),
        "positions/s",
    ]
    title = "Beside the checkpoint in fp32, on positions of the validation split"
    table = make_table(title, heads, rows)
    table.columns[0].no_wrap = True
    console.print(table, "")
    sizes = ", ".join(f"{name} {entry['bytes'] / 1e6:.2f} MB" for name, entry in card.files.items())
    what = f"a {card.kind} net of {card.weights_in_words()} for boards of {card.sizes()}"
    console.print(bold(str(path), f": {what}; {sizes}; {clock(seconds)}"))
    show_next(path)


def figure(name: str, value: float) -> str:
    return f"{100 * value:.2f}%" if name in ("top1_agreement", "same_winner") else f"{value:.2g}"


def show_patterns(policy: ExportedPatterns) -> None:
    size = policy.path.stat().st_size / 1e6
    what = f"a {policy.kind} policy of {policy.weights}"
    console.print(bold(str(policy.path), f": {what}; {size:.2f} MB"))
    show_next(policy.path)


def show_next(path: Path) -> None:
    console.print(
        f"next:   {command('evaluate_model', checkpoint=path)} dataset=...", soft_wrap=True
    )


@script("export_model")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    main()
