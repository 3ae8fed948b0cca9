"""Files of weights that are damaged or made on purpose: each is refused in one line, and nothing
in it is run.

Many seeds are slow; a few of each kind, and a few through the scripts, are in the fast set.
"""

import json
import logging
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hydra import compose, initialize_config_dir
from onnx import TensorProto, helper, numpy_helper

from data.dataset.file import DatasetFile
from data.patterns.files import PatternWeights, read_patterns, write_patterns
from data.patterns.vocabulary import Words, first_of_slots
from models.answering.engines import OnnxEngine
from models.answering.open import open_net
from models.exporting.int8 import to_int8
from models.exporting.onnx import to_onnx
from models.exporting.weights import to_safetensors
from models.files.card import NetFileError, as_text, describe, find_card, read_card, write_card
from models.files.checkpoint import CheckpointError, read_checkpoint
from models.files.interface import INPUT, OUTPUT, SIDE
from models.files.open import card_of
from models.nets.build import make_net
from pipelines import train_model
from pipelines.shell.configuration import CONF
from pipelines.shell.environment import ROOT
from pipelines.shell.mistakes import explain
from pipelines.shell.saved_config import DEEPEST, known_targets
from pipelines.training.resume import COMPOSED
from tests.support.calls import called
from tests.support.damage import cut, flip_bits, run_watched, script, zero_region
from tests.support.small_dataset import write_dataset
from tests.support.tiny_nets import (
    DUAL,
    KOMI_VALUE,
    PLAIN_POLICY,
    POLICY,
    SIZE,
    ZERO,
    tiny_net,
    write_checkpoint,
)

FILES = (
    "net.safetensors",
    "net.onnx",
    "net.int8.onnx",
    "net.json",
    "net.ckpt",
    "rollout.safetensors",
)
PAPER_VALUE = {
    "_target_": "models.nets.ValueNet",
    "planes": 49,
    "filters": 8,
    "layers": 4,
    "units": 8,
}
FAST, SLOW = range(8), range(8, 208)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A net in all kinds of files, a rollout policy, and a dataset."""
    folder = tmp_path_factory.mktemp("whole")
    net, card = tiny_net(POLICY)
    content = to_onnx(net, card)
    contents = {
        "net.safetensors": to_safetensors(net),
        "net.onnx": content,
        "net.int8.onnx": to_int8(content, np.zeros((32, SIZE, SIZE, 48), np.uint8), card),
    }
    files = {}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
        files[name] = describe(folder / name)
    write_card(
        card.__class__(**{**card.__dict__, "files": files, "data": {"notes": "made for a test"}}),
        folder / "net.json",
    )
    write_checkpoint(folder / "net.ckpt", net, POLICY)
    words = Words(*(np.zeros(0, np.int64) for _ in range(3)))
    weights = np.linspace(
        -1, 1, int(first_of_slots("rollout", words.sizes())[-1]), dtype=np.float32
    )
    write_patterns(
        folder / "rollout.safetensors", PatternWeights("rollout", words, weights, {"size": SIZE})
    )
    write_dataset(folder / "games.h5", size=SIZE)
    return folder


def copied(whole: Path, folder: Path, name: str) -> Path:
    """A file with its card, if it has one, in a folder of its own."""
    for each in {name, "net.json"} if "net." in name and name != "net.ckpt" else {name}:
        shutil.copy(whole / each, folder / each)
    if name == "net.json":
        shutil.copy(whole / "net.int8.onnx", folder)
    return folder / name


def refusal(path: Path) -> str:
    """What is said of a file that must not be opened."""
    with pytest.raises(NetFileError) as caught:
        open_net(path, device="cpu")
    message = explain(caught.value)
    assert message and "\n" not in message and str(path.parent) in message
    return message


def damage(data: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    ways: list[Callable[[bytes, random.Random], bytes]] = [
        flip_bits,
        flip_bits,
        flip_bits,
        zero_region,
        cut,
    ]
    while (changed := rng.choice(ways)(data, rng)) == data:
        pass
    return changed


def check_damage(whole: Path, folder: Path, name: str, seeds: range) -> None:
    path = copied(whole, folder, name)
    data = path.read_bytes()
    told = as_read(path)
    for seed in seeds:
        path.write_bytes(damage(data, seed))
        try:
            open_net(path, device="cpu")
        except NetFileError as error:
            assert "\n" not in str(error), (name, seed)
        else:  # spaces of JSON may be other spaces
            assert name.endswith((".json", "rollout.safetensors")) and as_read(path) == told, (
                name,
                seed,
            )


def as_read(path: Path) -> Any:
    """What a card or a file of patterns says."""
    if path.name == "rollout.safetensors":
        patterns = read_patterns(path)
        return patterns.about, patterns.weights.tobytes()
    return read_card(path) if path.suffix == ".json" else None


@pytest.mark.parametrize("name", FILES)
def test_no_damaged_file_is_taken_for_sound(whole: Path, tmp_path: Path, name: str) -> None:
    open_net(copied(whole, tmp_path, name), device="cpu")
    check_damage(whole, tmp_path, name, FAST)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_damaged_file_is_taken_for_sound_however_it_is_damaged(
    whole: Path, tmp_path: Path, name: str
) -> None:
    check_damage(whole, tmp_path, name, SLOW)


def test_scripts_refuse_damaged_files_in_one_line(whole: Path, tmp_path: Path) -> None:
    """An ONNX file that is evaluated, a checkpoint that is exported."""
    for name, arguments in (
        (
            "net.int8.onnx",
            ["evaluate_model", "checkpoint={path}", f"dataset={whole / 'games.h5'}", "draws=2"],
        ),
        ("net.ckpt", ["export_model", "checkpoint={path}", f"dataset={whole / 'games.h5'}"]),
    ):
        path = copied(whole, tmp_path, name)
        path.write_bytes(flip_bits(path.read_bytes(), random.Random(1)))
        first, *others = (text.format(path=path) for text in arguments)
        outcome = called(first, *others, cwd=tmp_path)
        assert outcome.kind == "refused" and str(path) in outcome.err, outcome


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_evaluate_model_refuses_each_kind_of_damaged_file(
    whole: Path, tmp_path: Path, name: str
) -> None:
    path = copied(whole, tmp_path, name)
    data = path.read_bytes()
    for seed in range(6):
        path.write_bytes(damage(data, seed))
        outcome = run_watched(
            script(
                "evaluate_model", f"checkpoint={path}", f"dataset={whole / 'games.h5'}", "draws=2"
            ),
            cwd=tmp_path,
        )
        assert outcome.kind == "refused", (seed, outcome)


# --- checkpoints


def unsealed(path: Path, net: torch.nn.Module) -> Path:
    """A checkpoint as older programs wrote it."""
    state = {f"net.{name}": value for name, value in net.state_dict().items()}
    config = {"model": {"net": POLICY}, "size": SIZE, "dataset": ""}
    torch.save({"state_dict": state, "hyper_parameters": config, "global_step": 10}, path)
    return path


def test_a_checkpoint_without_a_checksum_is_read_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = unsealed(tmp_path / "older.ckpt", tiny_net(POLICY)[0])
    with caplog.at_level(logging.WARNING):
        open_net(path, device="cpu")
        open_net(path, device="cpu")
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: written by an older program, without a checksum of the whole file"
    ]


def test_of_a_checkpoint_without_a_checksum_the_parts_are_compared(tmp_path: Path) -> None:
    path = unsealed(tmp_path / "older.ckpt", tiny_net(POLICY)[0])
    data, state = path.read_bytes(), read_checkpoint(path)["state_dict"]
    refused = 0
    for seed in range(40):
        path.write_bytes(flip_bits(data, random.Random(seed)))
        try:
            again = read_checkpoint(path)["state_dict"]
        except CheckpointError:
            refused += 1
        else:  # between the parts
            assert all(torch.equal(value, again[name]) for name, value in state.items()), seed
    assert refused > 20


def test_weights_that_are_views_of_a_few_numbers_are_refused(tmp_path: Path) -> None:
    checkpoint = {"state_dict": {"net.a": torch.zeros(1).expand(1 << 40)}, "global_step": 1,
                  "hyper_parameters": {"model": {"net": POLICY}, "size": SIZE}}  # fmt: skip
    torch.save(checkpoint, tmp_path / "wide.ckpt")
    assert "larger than the file" in refusal(tmp_path / "wide.ckpt")


IMPOSSIBLE = [
    {"blocks": 10**9},
    {"filters": 10**12},
    {"hidden": 1 << 17},
    {"blocks": 2.5},
    {"size": 10**6},
]


@pytest.mark.parametrize("numbers", [*IMPOSSIBLE, {"blocks": 1000, "filters": 60_000}], ids=str)
def test_nets_of_impossible_numbers_are_refused_before_they_are_made(
    whole: Path, tmp_path: Path, numbers: dict[str, Any]
) -> None:
    """In a checkpoint and on a card, each with its right checksum; the last one is possible, but
    not with these weights.
    """
    path = write_checkpoint(tmp_path / "large.ckpt", tiny_net(POLICY)[0], {**POLICY, **numbers})
    name = next(iter(numbers))
    assert (f"{name}=" in refusal(path)) == (len(numbers) == 1)
    path = copied(whole, tmp_path, "net.safetensors")
    card = read_card(tmp_path / "net.json")
    write_card(replace(card, net={**card.net, **numbers}), tmp_path / "net.json")
    refusal(path)


# --- safetensors


@pytest.mark.parametrize(
    "kind",
    [
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.complex64,
        torch.float64,
        torch.int8,
        torch.bool,
    ],
)
def test_numbers_of_other_kinds_are_refused(whole: Path, tmp_path: Path, kind: torch.dtype) -> None:
    from safetensors.torch import load_file, save_file

    path = copied(whole, tmp_path, "net.safetensors")
    state = load_file(path)
    name = next(name for name, value in state.items() if value.is_floating_point())
    save_file({**state, name: state[name].to(kind)}, path)
    forge(path)
    assert "numbers of another kind" in refusal(path)


def forge(path: Path) -> None:
    """Make the card describe the file as it is now, as who made it on purpose would."""
    card = json.loads(find_card(path).read_text())
    find_card(path).write_text(as_text({**card, "files": {path.name: describe(path)}}))


# --- ONNX made on purpose


def tensor(
    name: str, *numbers: float, shape: tuple[int, ...] = (1,), kind: int = TensorProto.FLOAT
) -> TensorProto:
    return helper.make_tensor(name, kind, shape, numbers)


def away(name: str, where: str, shape: tuple[int, ...]) -> TensorProto:
    """A tensor whose numbers are in another file."""
    made = TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL
    )
    made.external_data.add(key="location", value=where)
    return made


def hostile(whole: Path, folder: Path) -> dict[str, tuple[bytes, str]]:
    """ONNX files by what is wrong with them, each with words of the refusal."""
    good = onnx.load(whole / "net.onnx")
    made: dict[str, tuple[bytes, str]] = {}

    def add(name: str, words: str, change: Callable[[Any], Any]) -> None:
        model = onnx.ModelProto()
        model.CopyFrom(good)
        change(model)
        made[name] = model.SerializeToString(), words

    def wrap(node: Any) -> Callable[[Any], None]:
        return lambda model: model.graph.node.insert(0, node)

    inner = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["o"])], "inner", [], [helper.make_tensor_value_info("o", 1, [4])],
        [away("w", "secret", (4,))],
    )  # fmt: skip
    first = good.graph.initializer[0]
    secret = folder / "secret"
    secret.write_bytes(bytes(4 * int(np.prod(first.dims))))
    elsewhere = "some of its numbers are in another file"
    add(
        "numbers in a file beside",
        elsewhere,
        lambda m: m.graph.initializer[0].CopyFrom(away(first.name, "secret", first.dims)),
    )
    up = f"../{folder.name}/secret"
    add(
        "numbers in a file above",
        elsewhere,
        lambda m: m.graph.initializer[0].CopyFrom(away(first.name, up, first.dims)),
    )
    memory = "*/_ORT_MEM_ADDR_/*"
    add(
        "numbers in memory",
        elsewhere,
        lambda m: m.graph.initializer[0].CopyFrom(away(first.name, memory, first.dims)),
    )
    add(
        "numbers in a file, in an attribute",
        elsewhere,
        wrap(helper.make_node("Constant", [], ["c"], value=away("c", "secret", (4,)))),
    )
    yes = numpy_helper.from_array(np.array(True), "yes")
    branch = helper.make_node("If", ["yes"], ["r"], then_branch=inner, else_branch=inner)
    add(
        "numbers in a file, in a branch",
        "operator 'If' is none",
        lambda m: (m.graph.initializer.append(yes), wrap(branch)(m)),
    )
    hidden = helper.make_node("Relu", ["x"], ["y"])
    hidden.attribute.append(helper.make_attribute("then_branch", inner))
    add("a graph in an attribute", "Relu with an attribute", wrap(hidden))
    loop = helper.make_node("Loop", ["n", "yes"], ["r"], body=inner)
    add("a loop", "operator 'Loop' is none", wrap(loop))
    add(
        "a scan",
        "operator 'Scan' is none",
        wrap(helper.make_node("Scan", ["n"], ["r"], body=inner, num_scan_inputs=1)),
    )
    function = helper.make_function(
        "own",
        "F",
        ["x"],
        ["y"],
        [helper.make_node("Identity", ["x"], ["y"])],
        [helper.make_opsetid("", 20)],
    )
    add("a function", "functions of its own", lambda m: m.functions.append(function))
    sparse = helper.make_sparse_tensor(
        tensor("v", 1.0), tensor("i", 0, kind=TensorProto.INT64), [4]
    )
    add("sparse numbers", "sparse tensors", lambda m: m.graph.sparse_initializer.append(sparse))
    add(
        "sparse numbers in an attribute",
        "Constant with an attribute",
        wrap(helper.make_node("Constant", [], ["c"], sparse_value=sparse)),
    )
    add(
        "another domain",
        "wants operators of 'com.microsoft'",
        lambda m: m.opset_import.append(helper.make_opsetid("com.microsoft", 1)),
    )
    add(
        "an operator of another domain",
        "none that nets need",
        wrap(helper.make_node("Relu", ["x"], ["y"], domain="com.microsoft")),
    )
    add(
        "2^50 numbers",
        "which are not there",
        wrap(
            helper.make_node("Constant", [], ["c"], value=TensorProto(dims=[1 << 50], data_type=1))
        ),
    )
    add(
        "numbers of no number",
        "which are not there",
        lambda m: m.graph.initializer.append(TensorProto(name="n", dims=[-1], data_type=1)),
    )
    fill = helper.make_node("ConstantOfShape", ["s"], ["c"])
    add("a shape filled", "operator 'ConstantOfShape' is none", wrap(fill))
    large = tensor("s", 1 << 40, kind=TensorProto.INT64)
    add("a range without end", "far too large", lambda m: m.graph.initializer.append(large))
    padded = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[1, 1], pads=[1 << 20] * 4)
    add("a board with a margin", "Conv with an attribute", wrap(padded))
    add("100,000 operators", "operators, 10,000 are the most",
        lambda m: m.graph.node.extend([helper.make_node("Relu", ["x"], ["y"])] * 100_000))  # fmt: skip
    add("nothing", "no net in it", lambda m: m.graph.ClearField("node"))
    one = helper.make_tensor_value_info("more", TensorProto.UINT8, ["batch", SIDE, SIDE, 48])
    add("two inputs", "the card's net wants", lambda m: m.graph.input.append(one))
    add(
        "two outputs",
        "its output is",
        lambda m: m.graph.output.append(helper.make_tensor_value_info("logits", 1, None)),
    )
    made["output of another kind"] = (
        small("Identity", TensorProto.UINT8, ["batch", SIDE, SIDE, 48]),
        "its output is",
    )
    made["a batch of one"] = (
        small("Cast", 1, [1, SIDE, SIDE, 48], takes=[1, SIDE, SIDE, 48]),
        "the card's net wants",
    )
    made["a batch without a name"] = (
        small("Cast", 1, [None, SIDE, SIDE, 48], takes=[None, SIDE, SIDE, 48]),
        "the card's net wants",
    )
    made["a name with an escape"] = (
        small("Cast", 1, ["batch", SIDE, SIDE, 48], name="\x1b[31mred"),
        "the card's net wants",
    )
    made["no ONNX"] = b"\x08\x07" + b"no onnx " * 40, "not an ONNX file"
    made["onnxruntime's own format"] = b"\x18\x00\x00\x00ORTM" + bytes(200), "an ONNX file"
    made["nested without end"] = nested(5000), "an ONNX file"
    return made


def growing() -> dict[str, tuple[list[Any], str]]:
    """Nodes that make much of few numbers, or compute for hours, each with words of the refusal:
    from 8 x 8 numbers `w`, the planes as `x`, and `k`, which is 4096.
    """
    node = helper.make_node
    cast, flat = node("Cast", [INPUT], ["f"], to=1), node("Flatten", ["f"], ["r"], axis=0)
    doubled = [node("Concat", [f"w{k}"] * 2, [f"w{k + 1}"], axis=1) for k in range(40)]
    wide = [
        node("Concat", ["w"] * 60, ["a0"], axis=1),
        *(node("Concat", [f"a{k}"] * 8, [f"a{k + 1}"], axis=0) for k in range(3)),
    ]
    products = [
        node("MatMul", ["b", "b"] if k == 0 else [f"b{k}", "b"], [f"b{k + 1}"]) for k in range(40)
    ]
    b = [*wide, node("Transpose", ["a3"], ["t"]), node("MatMul", ["a3", "t"], ["b"])]
    margins = [cast, node("Transpose", ["f"], ["f0"], perm=[0, 3, 1, 2]),
               *(node("Conv", [f"f{k}", "kernel"], [f"f{k + 1}"], pads=[64] * 4) for k in range(60))]  # fmt: skip
    ranged = [
        node("Mul", ["k", "k"], ["kk"]),
        node("Mul", ["kk", "kk"], ["end"]),
        node("Range", ["zero", "end", "one"], ["y"]),
    ]
    outer = [cast, flat, node("Transpose", ["r"], ["c"], perm=[1, 0]), node("Concat", ["r"] * 64, ["rr"], axis=1),
             node("Add", ["rr", "c"], ["y"])]  # fmt: skip
    sized = [node("Cast", [INPUT], ["f"], to=7), node("ReduceMax", ["f"], ["end"], keepdims=0),
             node("Range", ["zero", "end", "one"], ["y"])]  # fmt: skip
    much = "for each position are the most"
    return {
        "constants doubled": (
            [node("Identity", ["w"], ["w0"]), *doubled],
            f"Concat gives 33,554,432 numbers, 16,777,216 {much}",
        ),
        "planes doubled": ([cast, node("Flatten", ["f"], ["w0"], axis=0), *doubled], much),
        "products of matrices": ([*b, *products], "it computes more than nets need"),
        "margins": (margins, "Conv gives "),
        "a long range": (ranged, f"Range gives 281,474,976,710,656 numbers, 16,777,216 {much}"),
        "all with all": (outer, "Add gives "),
        "a range of what is heard": (sized, "how much Range gives does not follow from the input"),
        "a margin that takes away": (
            [node("Conv", ["x", "kernel"], ["y"], pads=[-1] * 4)],
            "Conv with an attribute",
        ),
        "a stride of nothing": (
            [node("Conv", ["x", "kernel"], ["y"], strides=[0, 0])],
            "Conv with an attribute",
        ),
        "what nobody gives": ([node("Relu", ["x"], ["y"])], "how much Relu gives does not follow"),
        "a name given twice": ([node("Relu", ["w"], ["w"])], "Relu gives what another node gives"),
    }


def test_small_onnx_files_that_grow_are_refused_before_they_run(whole: Path) -> None:
    """And bigger batches are looked at when they come: what grows with their square is refused
    then.
    """
    card = read_card(whole / "net.json")
    takes = [helper.make_tensor_value_info(INPUT, TensorProto.UINT8, ["batch", SIDE, SIDE, 48])]
    arrays = {"w": np.ones((8, 8), np.float32), "kernel": np.ones((48, 48, 1, 1), np.float32),
              "k": np.array(4096), "zero": np.array(0), "one": np.array(1)}  # fmt: skip
    constants = [numpy_helper.from_array(value, name) for name, value in arrays.items()]

    def made(nodes: list[Any], **more: Any) -> bytes:
        graph = helper.make_graph(
            nodes, "g", takes, [helper.make_tensor_value_info(OUTPUT, 1, None)], constants, **more
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10
        ).SerializeToString()

    for name, (nodes, words) in growing().items():
        content = made(nodes)
        assert len(content) < 40_000
        with pytest.raises(NetFileError) as caught:
            OnnxEngine(content, card, threads=1)
        assert words in str(caught.value), (name, caught.value)
    lie = helper.make_tensor_value_info("s", 1, [1 << 40, 8])
    with pytest.raises(NetFileError, match="it says that Relu gives another size than it does"):
        OnnxEngine(
            made([helper.make_node("Relu", ["w"], ["s"])], value_info=[lie]), card, threads=1
        )


def test_what_grows_with_the_square_of_a_batch_is_refused_when_the_batch_comes(whole: Path) -> None:
    nodes = [
        helper.make_node("Cast", [INPUT], ["f"], to=1), helper.make_node("Flatten", ["f"], ["r"], axis=0),
        helper.make_node("Transpose", ["r"], ["c"], perm=[1, 0]), helper.make_node("Mul", ["r", "c"], ["all"]),
        helper.make_node("ReduceMax", ["all", "last"], [OUTPUT], keepdims=0),
    ]  # fmt: skip
    takes = helper.make_tensor_value_info(INPUT, TensorProto.UINT8, ["batch", SIDE, SIDE, 48])
    gives = helper.make_tensor_value_info(OUTPUT, 1, ["batch"])
    graph = helper.make_graph(
        nodes, "g", [takes], [gives], [numpy_helper.from_array(np.array([1]), "last")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    engine = OnnxEngine(
        model.SerializeToString(),
        replace(read_card(whole / "net.json"), kind="value", answers=("value",)),
        threads=1,
    )
    with pytest.raises(
        NetFileError, match=r"Mul gives .* numbers, 16,777,216 for each position are the most"
    ):
        engine.run(np.zeros((64, SIZE, SIZE, 48), np.uint8))


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 9, 13, 19])
@pytest.mark.parametrize("arguments", [POLICY, PLAIN_POLICY, KOMI_VALUE, PAPER_VALUE, DUAL, ZERO])
def test_what_is_exported_for_any_board_is_small_enough(
    arguments: dict[str, Any], size: int
) -> None:
    net = make_net({**arguments, "size": size})
    card = card_of(net, {**arguments, "size": size}, size, name="net")
    engine = OnnxEngine(to_onnx(net, card), card, threads=1)
    for side, batch in ((size, 1), (size, 3), (card.least or size, 64)):
        engine.run(np.zeros((batch, side, side, len(card.planes)), np.uint8))


def small(
    operator: str,
    kind: int,
    gives: list[Any],
    takes: Any = ("batch", SIDE, SIDE, 48),
    name: str = INPUT,
) -> bytes:
    how = {"to": 1} if operator == "Cast" else {}
    graph = helper.make_graph(
        [helper.make_node(operator, [name], [OUTPUT], **how)], "g",
        [helper.make_tensor_value_info(name, TensorProto.UINT8, list(takes))],
        [helper.make_tensor_value_info(OUTPUT, kind, gives)],
    )  # fmt: skip
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    ).SerializeToString()


def nested(depth: int) -> bytes:
    """Graphs in attributes of graphs, as bytes: protobuf's own limit is passed."""
    content = b""
    for _ in range(depth):
        for tag in (0x32, 0x2A, 0x0A):  # g of an attribute, attribute of a node, node of a graph
            content = bytes([tag]) + varint(len(content)) + content
    return b"\x08\x0a\x3a" + varint(len(content)) + content


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def test_hostile_onnx_files_with_right_checksums_are_refused(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(whole, tmp_path, "net.onnx")
    monkeypatch.chdir(tmp_path)
    for name, (content, words) in hostile(whole, tmp_path).items():
        path.write_bytes(content)
        forge(path)
        message = refusal(path)
        assert words in message and message.isprintable(), (name, message)


def test_an_onnx_file_that_fails_while_it_computes_is_one_line(whole: Path) -> None:
    """It has the right input and output, and wants numbers that are not there."""
    nodes = [
        helper.make_node("Cast", [INPUT], ["numbers"], to=1),
        helper.make_node("Flatten", ["numbers"], ["flat"]),
        helper.make_node("Gather", ["flat", "places"], [OUTPUT], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(INPUT, TensorProto.UINT8, ["batch", SIDE, SIDE, 48])],
        [helper.make_tensor_value_info(OUTPUT, 1, ["batch", "points"])],
        [numpy_helper.from_array(np.full(SIZE * SIZE, 4000), "places")],
    )  # fmt: skip
    content = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10
    ).SerializeToString()
    engine = OnnxEngine(content, read_card(whole / "net.json"), threads=1)
    with pytest.raises(NetFileError, match="could not compute") as caught:
        engine.run(np.zeros((2, SIZE, SIZE, 48), np.uint8))
    assert str(caught.value).isprintable()


@pytest.mark.slow
def test_scripts_refuse_hostile_onnx_files(whole: Path, tmp_path: Path) -> None:
    path = copied(whole, tmp_path, "net.onnx")
    for name, (content, _) in hostile(whole, tmp_path).items():
        path.write_bytes(content)
        forge(path)
        outcome = run_watched(
            script(
                "evaluate_model", f"checkpoint={path}", f"dataset={whole / 'games.h5'}", "draws=2"
            ),
            cwd=tmp_path,
        )
        assert outcome.kind == "refused", (name, outcome)


# --- configurations of runs


@pytest.fixture(scope="module")
def run_folder(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder as training leaves it, but for its checkpoint."""
    folder = tmp_path_factory.mktemp("run")
    net = [
        "model=policy_resnet",
        "model.net.filters=16",
        "model.net.blocks=1",
        "model.net.hidden=8",
    ]
    how = [
        "logger=none",
        f"dataset={whole / 'games.h5'}",
        "loader.batch_size=16",
        "steps=2",
        "threads=1",
    ]
    outcome = called("train_model", *net, *how, f"hydra.run.dir={folder}")
    assert outcome.kind == "well", outcome
    return folder


HOSTILE = {
    "a class of Python": "  _target_: os.mkdir\n  _args_: [TRAP]\n",
    "a class within a list": "  a: [1, {_target_: os.mkdir, path: TRAP}]\n",
    "half a class": "  _target_: os.mkdir\n  path: TRAP\n  _partial_: true\n",
    "a class put together": "  path: TRAP\n  word: mkdir\n  _target_: os.${.word}\n",
    "a class by a resolver": "  a: ${first:{_target_:os.mkdir,path:TRAP}}\n",
    "a class of another package": "  _target_: numpy.save\n  file: TRAP\n  arr: [1]\n",
    "a class of ours that no group names": "  _target_: data.base.atomic.write_text\n  path: TRAP\n  text: x\n",
    "a class of Hydra's": "  _target_: hydra.utils.get_method\n  path: os.mkdir\n",
    "a class that is no word": "  _target_: [os.mkdir]\n",
    "an object of Python": "  a: !!python/object/apply:os.mkdir [TRAP]\n",
    "nested lists": f"  a: {'[' * 50_000}{']' * 50_000}\n",
    "nested groups": f"  a: {'{a: ' * 3_000}1{'}' * 3_000}\n",
    "aliases that multiply": "  a: &a [1, 1]\n  b: &b [*a, *a]\n  c: [*b, *b]\n",
    "an alias of itself": "  a: &a [*a]\n",
    "a circle": "  a: ${extra.b}\n  b: ${extra.a}\n",
    "a megabyte": f"  a: {'x' * (1 << 20)}\n",
    "no text": "  a: \x00\n",
    "a resolver with a word": "  a: ${times:x,y}\n",
}


def with_configuration(run: Path, folder: Path, extra: str) -> Path:
    """The run's folder, whose configuration has more in it than training wrote."""
    shutil.copytree(run, folder, dirs_exist_ok=True)
    text = (run / COMPOSED).read_text(encoding="utf-8")
    (folder / COMPOSED).write_text(
        f"{text}\nextra:\n{extra.replace('TRAP', str(folder / 'trap'))}", encoding="utf-8"
    )
    return folder


@pytest.mark.parametrize("name", HOSTILE)
def test_a_run_whose_configuration_is_hostile_is_refused(
    run_folder: Path, tmp_path: Path, name: str
) -> None:
    folder = with_configuration(run_folder, tmp_path / "run", HOSTILE[name])
    with initialize_config_dir(str(CONF), version_base="1.3"):
        cfg = compose("train_model", [f"resume={folder}"])
    with pytest.raises(ValueError, match=r"composed\.yaml") as caught:
        train_model.run(cfg)
    message = explain(caught.value)
    assert (
        message
        and "\n" not in message
        and str(folder) in message
        and not (folder / "trap").exists()
    )


def test_the_script_refuses_hostile_configurations_and_goes_on_with_sound_ones(
    run_folder: Path, tmp_path: Path
) -> None:
    folder = with_configuration(run_folder, tmp_path / "hostile", HOSTILE["a class of Python"])
    outcome = called("train_model", f"resume={folder}", cwd=tmp_path)
    assert outcome.kind == "refused" and not (folder / "trap").exists(), outcome
    folder = with_configuration(run_folder, tmp_path / "sound", "  a: 1\n")
    last = folder / "checkpoints" / "last.ckpt"
    last.write_bytes(flip_bits(last.read_bytes(), random.Random(3)))
    outcome = called("train_model", f"resume={folder}", "steps=3", cwd=tmp_path)
    assert outcome.kind == "refused" and str(last) in outcome.err, outcome
    shutil.copy(run_folder / "checkpoints" / "last.ckpt", last)
    outcome = called("train_model", f"resume={folder}", "steps=3", cwd=tmp_path)
    assert outcome.kind == "well", outcome


@pytest.mark.slow
def test_the_script_refuses_all_hostile_configurations(run_folder: Path, tmp_path: Path) -> None:
    for name, extra in HOSTILE.items():
        folder = with_configuration(run_folder, tmp_path / name.replace(" ", "_"), extra)
        outcome = run_watched(script("train_model", f"resume={folder}"), seconds=100, cwd=tmp_path)
        assert outcome.kind == "refused" and not (folder / "trap").exists(), (name, outcome)


def test_groups_name_what_may_be_made() -> None:
    named = known_targets()
    assert {
        "models.learning.checkpoints.Checkpoints",
        "pytorch_lightning.Trainer",
        "data.loading.datamodule.GoDataModule",
    } <= named
    assert not [
        name
        for name in named
        if name.partition(".")[0]
        not in ("data", "models", "mcts", "pipelines", "pytorch_lightning")
    ]
    assert DEEPEST < 100 and (ROOT / "conf").is_dir()


def test_the_dataset_of_these_tests_is_sound(whole: Path) -> None:
    with closing(DatasetFile(whole / "games.h5")) as file:
        assert file.size == SIZE
