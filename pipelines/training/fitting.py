"""What a net and the data that it learns from must agree on.

    check_inputs     before the data are opened: planes or patterns, owners, moves
    settle           once they are: planes, uniform inputs, passes, answers and their lessons,
                     whether a second dataset teaches anything

Values that are null in the configuration follow from the data, and `settle` writes them there. So
a run's configuration tells what its net was made with. Wrong combinations raise `TrainingError`.
"""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from data.features.evaluation import OWNER, POLICY, REPLY
from data.features.inputs import Inputs
from data.loading.targets import TARGETS
from pipelines.shell.console import console
from pipelines.training.options import TrainingError

# What a net takes as input, and which loaders make it. A class says so by `input_kind`.
FITTING = {
    "planes": "a loader of planes, such as loader=default",
    "patterns": "loader=patterns or tree_patterns",
}
ALWAYS = ("move", "outcome")  # targets that every loader gives


def check_inputs(cfg: DictConfig) -> None:
    """Raise `TrainingError` if the loader makes other inputs than the net takes."""
    net, loader = class_of(cfg.model.net), class_of(cfg.loader)
    wanted = getattr(net, "input_kind", "planes")
    made = getattr(loader, "input_kind", "planes")
    if "patterns" in (made, cfg.loader.get("inputs")):
        made = "patterns"
    if wanted != made:
        raise TrainingError(
            f"this model wants {FITTING[wanted]}; leave loader= out, and the model chooses it"
        )
    if bool(cfg.model.get("move_weight")) != bool(cfg.model.net.get("moves")):
        raise TrainingError(
            "model.move_weight above 0 and model.net.moves=true need each other: give both or "
            "neither"
        )


def class_of(config: DictConfig) -> Any:
    """Return the class that a part of the configuration names."""
    from hydra.utils import get_class

    return get_class(str(OmegaConf.to_container(config, resolve=False)["_target_"]))  # type: ignore[index,call-overload]


def settle(cfg: DictConfig, data: Any) -> None:
    """Write to the configuration what follows from the data, and check the rest against them."""
    if cfg.model.get("owner_weight") and OWNER not in targets_of(data):
        raise TrainingError(
            f"model.owner_weight={cfg.model.owner_weight} needs loader.owners=<a file of "
            "estimate_owners.py>; 0 does without"
        )
    net = cfg.model.net
    if "uniform" in net:
        settle_planes(net, data.inputs)
    elif "planes" in net:
        check_planes(net, data)
    settle_passes(net, bool(getattr(data, "names_pass", False)))
    if "lessons" in cfg.model:
        settle_lessons(cfg.model, targets_of(data))
    check_mixed(cfg)
    net.update(data.net_arguments())


def check_planes(net: DictConfig, data: Any) -> None:
    """Raise `TrainingError` unless a net that counts its planes gets as many."""
    if data.planes != net.planes:
        raise TrainingError(
            f"model.net.planes={net.planes}, but loader.planes={data.planes}: give loader.planes "
            "alone"
        )
    if len(data.inputs) != data.planes:
        raise TrainingError(
            f"loader.extras: this net does not take {', '.join(data.inputs.uniform)} as inputs; "
            "model=dual_resnet does, model=zero takes colours and komi"
        )


def settle_planes(net: DictConfig, inputs: Inputs) -> None:
    """Give a net that takes uniform inputs by name the planes of the loader."""
    for key, value in (("planes", inputs.stored), ("uniform", list(inputs.uniform))):
        if net[key] is None:
            net[key] = value
        elif net[key] != value:
            raise TrainingError(
                f"model.net.{key}={net[key]}, but the loader gives {value}: leave model.net.{key} "
                "out, it follows from loader.planes and loader.extras"
            )


def settle_passes(net: DictConfig, passes: bool) -> None:
    """A net that can choose names passes if they are among the moves to learn."""
    if net.get("names_pass", True) is None:
        net.names_pass = passes
    if "names_pass" in net and net.names_pass and not passes:
        console.print(
            "no passes are among the moves to learn: a net with model.net.names_pass=true gives "
            "them no chance"
        )
    if passes and not net.get("names_pass", getattr(class_of(net), "names_pass", False)):
        raise TrainingError(
            "passes are among the moves of this dataset, and this net names none: "
            "model=dual_resnet or zero, or loader.passes=false"
        )


def targets_of(data: Any) -> set[str]:
    """Return the targets that batches of these data have."""
    named = {*ALWAYS, *getattr(data, "wanted", ())}
    return named | ({OWNER} if data.owners is not None else set())


def check_mixed(cfg: DictConfig) -> None:
    """Raise `TrainingError` if a net that learns only moves is to learn from rows without any."""
    if cfg.loader.get("mixed") is None or cfg.loader.mixed_moves:
        return
    if "lessons" in cfg.model:
        learned = {name for name, lesson in cfg.model.lessons.items() if lesson is not None}
    else:
        learned = set(getattr(class_of(cfg.model.net), "answers", ()))
    if learned <= {POLICY, REPLY}:
        raise TrainingError(
            f"loader.mixed={cfg.loader.mixed}: this model learns moves alone, and those of the "
            "second dataset do not teach; loader.mixed_moves=true lets them"
        )


def settle_lessons(model: DictConfig, targets: set[str]) -> None:
    """Choose the answers of a net whose `heads` are null: those that the data can teach."""
    from models.learning.lesson_module import check_heads
    from models.learning.lessons import has_target, lessons_of

    lessons = lessons_of(model.lessons)
    untaught = [name for name, each in lessons.items() if not has_target(each, targets)]
    if "heads" in model.net and model.net.heads is None:
        model.net.heads = [name for name in lessons if name not in untaught]
        for name in untaught:
            model.lessons[name] = None
            console.print(f"no answer for {name}: {missing(lessons.pop(name).target)}")
        untaught = []
    answers = model.net.get("heads") or getattr(class_of(model.net), "answers", ())
    check_heads(lessons, [str(name) for name in answers])
    for name in untaught:
        raise TrainingError(
            f"model.lessons.{name}: {missing(lessons[name].target)}; "
            f"model.lessons.{name}=null leaves it out"
        )


def missing(target: str) -> str:
    """Return in words that the loader does not give a target, and what makes it."""
    if target == OWNER:
        return "loader.owners=<a file of estimate_owners.py> is missing"
    if target not in TARGETS:
        return f"the loader gives no {target}; records have none"
    return f"the loader gives no {target}, loader.targets=[{target}] names it"
