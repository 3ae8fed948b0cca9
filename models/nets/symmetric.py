"""Layers that are equivariant: turn the planes, and every map they compute turns with them.

Channels come in eights, one for each orientation of a feature (Cohen and Welling 2016, group p4m);
feature c in orientation h is channel 8 * c + h. A layer learns the weights w of orientation 0 and
computes an ordinary convolution with

    W[c,h; d,g] = w[c, d, h^-1 g], turned by h

so one position teaches as much as its eight images. `plain_state` returns these W, with which an
ordinary net computes the same; `folded_state` returns w for given W.
"""

from collections.abc import Mapping
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from data.base.errors import Mistake
from data.game import symmetry

SIDES = symmetry.COUNT
# How far the eight images of one weight may differ, as a share of the largest weight. Files may
# have 16 bits a number.
TURNED_ALIKE = 0.01


@cache
def turned_places(kernel: int) -> Tensor:
    """Return int64 [8, window]: entry [h, p] is the place of a kernel that h moves to place p."""
    return torch.from_numpy(symmetry.backward(kernel)[:, : kernel * kernel].astype("int64"))


@cache
def sides_and_places(kernel: int) -> Tensor:
    """Return the indices int64 [h, g, p], flat, of W[h; g, p] in w [side, place].

    Output orientation h reads input orientation g through the base kernel of side h^-1 g, turned
    by h: index [h, g, p] is (h^-1 g) * window + turned_places[h, p].
    """
    sides = torch.from_numpy(symmetry.compose()[:, symmetry.inverse()].T.astype("int64"))  # [h, g]
    return (sides[:, :, None] * kernel * kernel + turned_places(kernel)[:, None, :]).flatten()


class SymmetricConv(nn.Module):
    """A convolution to maps in eight orientations, from such maps or, with `lift`, from planes.

    `inputs` and `outputs` count channels.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, *, lift: bool = False):
        super().__init__()
        if outputs % SIDES or (inputs % SIDES and not lift):
            raise Mistake(
                f"{inputs} to {outputs} channels: "
                f"with symmetric=true all numbers of channels are multiples of {SIDES}"
            )
        self.kernel = kernel
        self.lift = lift
        self.outputs = outputs
        self.features = outputs // SIDES
        self.inputs = inputs if lift else inputs // SIDES
        seen = 1 if lift else SIDES
        self.weight = nn.Parameter(torch.empty(self.features, self.inputs, seen * kernel * kernel))
        bound = self.weight[0].numel() ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)  # as torch begins a convolution
        table = turned_places(kernel).flatten() if lift else sides_and_places(kernel)
        self.table: Tensor
        self.register_buffer("table", table, persistent=False)

    def plain_weight(self, weight: Tensor | None = None) -> Tensor:
        """Return W, [outputs, inputs, kernel, kernel], of this weight or of another w."""
        k = self.kernel
        weight = (self.weight if weight is None else weight).index_select(2, self.table)
        sides = () if self.lift else (SIDES,)
        weight = weight.view(self.features, -1, SIDES, *sides, k, k).transpose(1, 2)
        return weight.reshape(self.features * SIDES, -1, k, k)

    def folded(self, plain: Tensor) -> Tensor:
        """Return w for a given W: the mean of the eight places that each number comes to.

        W may have any number of inputs.
        """
        sides = 1 if self.lift else SIDES
        window = self.kernel * self.kernel
        # [features, inputs, table]
        places = plain.reshape(self.features, SIDES, -1, sides * window).transpose(1, 2).flatten(2)
        return (
            places.new_zeros(*places.shape[:2], sides * window).index_add_(2, self.table, places)
            / SIDES
        )

    def forward(self, x: Tensor) -> Tensor:
        weight = self.plain_weight().contiguous(memory_format=torch.channels_last)
        return functional.conv2d(x, weight, padding=self.kernel // 2)


class SymmetricLinear(SymmetricConv):
    """From numbers in eight orientations to such numbers: a convolution of one point."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs, 1)
        self.bias = nn.Parameter(torch.zeros(self.features))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(
            x, self.plain_weight().flatten(1), self.bias.repeat_interleave(SIDES)
        )


class SymmetricSum(nn.Module):
    """From eight orientations to an invariant answer: all orientations of a feature weigh the same.

    Inputs and answers are maps, or with `maps=False` numbers.
    """

    def __init__(self, inputs: int, outputs: int, *, maps: bool, bias: bool):
        super().__init__()
        self.outputs = outputs
        self.weight = nn.Parameter(torch.empty(outputs, inputs // SIDES, *([1, 1] if maps else [])))
        nn.init.uniform_(self.weight, -(inputs**-0.5), inputs**-0.5)
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def plain_weight(self, weight: Tensor | None = None) -> Tensor:
        return (self.weight if weight is None else weight).repeat_interleave(SIDES, 1)

    def folded(self, plain: Tensor) -> Tensor:
        return plain.reshape(len(plain), -1, SIDES, *plain.shape[2:]).mean(2)

    def forward(self, x: Tensor) -> Tensor:
        function = functional.conv2d if self.weight.ndim == 4 else functional.linear
        return function(x, self.plain_weight(), self.bias)


class SymmetricSpread(nn.Module):
    """From numbers that are invariant to features whose eight orientations get the same."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.outputs = outputs
        self.weight = nn.Parameter(torch.zeros(outputs // SIDES, inputs))

    def plain_weight(self, weight: Tensor | None = None) -> Tensor:
        return (self.weight if weight is None else weight).repeat_interleave(SIDES, 0)

    def folded(self, plain: Tensor) -> Tensor:
        return plain.reshape(-1, SIDES, plain.shape[1]).mean(1)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.plain_weight())


class SymmetricNorm(nn.BatchNorm2d):
    """Batch norm with one scale and shift for the eight orientations of a feature.

    In evaluation mode, statistics are averaged over the eight, too.
    """

    def __init__(self, channels: int):
        super().__init__(channels)
        self.weight = nn.Parameter(torch.ones(channels // SIDES))
        self.bias = nn.Parameter(torch.zeros(channels // SIDES))

    def statistics(self) -> tuple[Tensor, Tensor]:
        assert self.running_mean is not None and self.running_var is not None
        mean, variance = (
            s.view(-1, SIDES).mean(1).repeat_interleave(SIDES)
            for s in (self.running_mean, self.running_var)
        )
        return mean, variance

    def forward(self, x: Tensor) -> Tensor:
        mean, variance = (
            (self.running_mean, self.running_var) if self.training else self.statistics()
        )
        weight, bias = (w.repeat_interleave(SIDES) for w in (self.weight, self.bias))
        return functional.batch_norm(
            x, mean, variance, weight, bias, self.training, self.momentum or 0.1, self.eps
        )


WEIGHTED = (SymmetricConv, SymmetricSum, SymmetricSpread)  # have a weight in eight places


def plain_state(net: nn.Module) -> dict[str, Tensor]:
    """Return the state of the net with ordinary layers that computes the same."""
    state = dict(net.state_dict())
    with torch.no_grad():
        for name, layer in net.named_modules():
            if isinstance(layer, WEIGHTED):
                weight = layer.plain_weight()
                state[f"{name}.weight"] = (
                    weight.flatten(1) if isinstance(layer, SymmetricLinear) else weight
                )
            if isinstance(layer, SymmetricLinear | SymmetricNorm):
                state[f"{name}.bias"] = layer.bias.repeat_interleave(SIDES)
            if isinstance(layer, SymmetricNorm):
                state[f"{name}.weight"] = layer.weight.repeat_interleave(SIDES)
                state[f"{name}.running_mean"], state[f"{name}.running_var"] = layer.statistics()
    return state


def folded_state(net: nn.Module, plain: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state for `net`, which has symmetric layers, from that of an ordinary net.

    Inverse of `plain_state`. Keys unknown to `net` are kept; layers whose width differs are
    dropped. Raises `Mistake` if the ordinary layers are not equivariant.
    """
    state = dict(plain)

    def fold(name: str, fits: bool, layer: nn.Module) -> None:
        if name not in plain:
            return
        if not fits:
            del state[name]
            return
        one_number_a_feature = isinstance(layer, SymmetricNorm) or name.endswith(".bias")
        folded = (
            plain[name].view(-1, SIDES).mean(1)
            if one_number_a_feature
            else layer.folded(plain[name])  # type: ignore[operator]
        )
        again = (
            folded.repeat_interleave(SIDES) if one_number_a_feature else layer.plain_weight(folded)  # type: ignore[operator]
        )
        if (again.reshape_as(plain[name]) - plain[name]).abs().max() > TURNED_ALIKE * plain[
            name
        ].abs().max():
            raise Mistake(f"{name} does not weigh all eight sides alike")
        state[name] = folded

    for name, layer in net.named_modules():
        weight, bias = f"{name}.weight", f"{name}.bias"
        if isinstance(layer, WEIGHTED):
            fold(weight, weight in plain and has_shape(plain[weight], layer), layer)
        if isinstance(layer, SymmetricLinear):
            fold(bias, bias in plain and len(plain[bias]) == layer.outputs, layer)
        if isinstance(layer, SymmetricNorm):
            for each in (weight, bias):
                fold(each, each in plain and len(plain[each]) == layer.num_features, layer)
    return state


def has_shape(plain: Tensor, layer: SymmetricConv | SymmetricSum | SymmetricSpread) -> bool:
    """Whether the layer's W has this shape; a layer that lifts may have more or fewer planes."""
    shape = layer.plain_weight().shape[: plain.ndim]
    lifts = isinstance(layer, SymmetricConv) and layer.lift
    return (
        plain.shape[0] == shape[0]
        and plain.shape[2:] == shape[2:]
        and (lifts or plain.shape[1] == shape[1])
    )
