"""Models of torch as graphs, beside the models themselves. `make test-full` brings torch."""

import functools
import math
import re
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import whorl
import whorl.nn
from nn.torch_page import SAVED, results_of, run_page
from whorl.nn._graph import Function, Linear, Product, Sparse, Sum, Windows

torch = pytest.importorskip(
    "torch", reason="torch is not installed (539 MB; make test-full brings it)"
)
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from whorl.nn._torch import read_torch  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Using padding='same'"),
    pytest.mark.filterwarnings("ignore:dropout"),
]


@pytest.fixture(autouse=True)
def doubles(generator: np.random.Generator) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(int(generator.integers(2**32)))
    yield
    torch.set_default_dtype(before)


def check(model: Any, *shape: int) -> Any:
    """The graph of a model, whose statistics are first made random."""
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)) and module.track_running_stats:
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    graph = read_torch(model.eval(), shape)
    x = torch.randn(4, *shape)
    with torch.no_grad():
        expected = model(x.clone()).numpy()
    np.testing.assert_allclose(graph(x.numpy()), expected, rtol=1e-9, atol=1e-9)
    return graph


class Call(nn.Module):  # type: ignore[misc]
    """A function as a model."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def kinds(graph: Any) -> list[type]:
    return [type(node) for node in graph.nodes[1:]]


LAYERS = {
    "Linear": (lambda: nn.Linear(5, 3), (5,)),
    "Linear without bias": (lambda: nn.Linear(5, 3, bias=False), (5,)),
    "Linear rows": (lambda: nn.Linear(5, 3), (2, 4, 5)),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1, dilation=2), (3, 9)),
    "Conv1d groups": (lambda: nn.Conv1d(4, 6, 3, groups=2, bias=False), (4, 9)),
    "Conv1d same": (lambda: nn.Conv1d(3, 4, 4, padding="same", dilation=3), (3, 9)),
    "Conv2d": (lambda: nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)), (3, 7, 6)),
    "Conv2d dilation": (lambda: nn.Conv2d(3, 4, 3, dilation=(1, 2)), (3, 7, 6)),
    "Conv2d depthwise": (lambda: nn.Conv2d(4, 8, 3, groups=4, padding=1), (4, 5, 5)),
    "Conv2d same": (lambda: nn.Conv2d(2, 3, (2, 3), padding="same"), (2, 5, 6)),
    "Conv2d valid": (lambda: nn.Conv2d(2, 3, 3, padding="valid"), (2, 5, 6)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(5), (5,)),
    "BatchNorm1d lines": (lambda: nn.BatchNorm1d(5, affine=False), (5, 4)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(5, eps=0.1), (5, 2, 3)),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, 1), (3, 9)),
    "AvgPool1d without zeros": (lambda: nn.AvgPool1d(3, 2, 1, count_include_pad=False), (3, 9)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (3, 6, 6)),
    "AvgPool2d odd": (lambda: nn.AvgPool2d((3, 2), (2, 1), (1, 0)), (3, 6, 5)),
    "AvgPool2d without zeros": (
        lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        (3, 6, 5),
    ),
    "AvgPool2d divisor": (lambda: nn.AvgPool2d(2, divisor_override=3), (3, 6, 6)),
    "AvgPool2d ceil": (lambda: nn.AvgPool2d(2, ceil_mode=True), (3, 6, 6)),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(3), (2, 9)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((2, None)), (2, 6, 5)),
    "AdaptiveAvgPool2d one": (lambda: nn.AdaptiveAvgPool2d(1), (2, 6, 5)),
    "Flatten": (lambda: nn.Flatten(), (2, 3, 4)),
    "Flatten last": (lambda: nn.Flatten(2), (2, 3, 4)),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 3)), (6,)),
    "ReLU": (lambda: nn.ReLU(), (5,)),
    "ReLU in place": (lambda: nn.ReLU(inplace=True), (5,)),
    "SiLU": (lambda: nn.SiLU(), (5,)),
    "GELU": (lambda: nn.GELU(), (5,)),
    "GELU by tanh": (lambda: nn.GELU("tanh"), (5,)),
    "Sigmoid": (lambda: nn.Sigmoid(), (5,)),
    "Tanh": (lambda: nn.Tanh(), (5,)),
    "Dropout": (lambda: nn.Dropout(), (5,)),
    "Dropout1d": (lambda: nn.Dropout1d(), (5, 3)),
    "Dropout2d": (lambda: nn.Dropout2d(), (5, 3, 3)),
    "Identity": (lambda: nn.Sequential(nn.Identity(), nn.Tanh()), (5,)),
    "ZeroPad2d": (lambda: nn.ZeroPad2d((1, 0, 2, 1)), (2, 3, 3)),
}


@pytest.mark.parametrize("case", LAYERS)
def test_a_layer_is_torchs(case: str) -> None:
    make, shape = LAYERS[case]
    check(make(), *shape)


FUNCTIONS = {
    "relu": (F.relu, (5,)),
    "relu_": (lambda x: F.relu_(x.clone()), (5,)),
    "method": (lambda x: x.relu().sigmoid().tanh(), (5,)),
    "silu": (F.silu, (5,)),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), (5,)),
    "sigmoid": (torch.sigmoid, (5,)),
    "dropout": (lambda x: F.dropout(x, 0.5, training=False), (5,)),
    "add": (lambda x: torch.add(x, torch.ones(5), alpha=2), (5,)),
    "add tensors": (lambda x: torch.add(x, x.tanh(), alpha=-2), (5,)),
    "constants": (lambda x: (1 - 2 * x + torch.arange(5)) / 4 - 0.1, (5,)),
    "constant first": (lambda x: torch.arange(5) * x - torch.ones(2, 5) @ torch.eye(5), (2, 5)),
    "negative": (lambda x: -x.tanh(), (5,)),
    "rsub": (lambda x: torch.rsub(x, 3), (5,)),
    "residual": (lambda x: x + F.relu(x), (5,)),
    "product": (lambda x: torch.tanh(x) * torch.sigmoid(x), (5,)),
    "broadcast": (lambda x: x * torch.sigmoid(x.mean((2, 3), keepdim=True)), (3, 4, 4)),
    "zero": (lambda x: x * 0 + x, (5,)),
    "mean": (lambda x: x.mean((-1, -2)), (3, 4, 5)),
    "mean of one axis": (lambda x: torch.mean(x, 1, keepdim=True), (3, 4, 5)),
    "sum": (lambda x: x.sum(-1), (3, 4)),
    "view": (lambda x: x.view(x.size(0), -1), (3, 4)),
    "reshape": (lambda x: torch.reshape(x, (x.shape[0], 4, 3)), (3, 4)),
    "flatten": (lambda x: torch.flatten(x, start_dim=1), (3, 4)),
    "getitem": (lambda x: x[:, 1:, ::2], (3, 5)),
    "getitem of one": (lambda x: x[:, -1, None], (3, 5)),
    "getitem of many": (lambda x: x[:, [2, 0]], (3, 5)),
    "transpose": (lambda x: x.transpose(1, 2).contiguous(), (3, 5)),
    "permute": (lambda x: x.permute(0, 3, 1, 2), (3, 5, 2)),
    "batch elsewhere": (lambda x: (x.transpose(0, 1)[1:] * 2).transpose(0, 1), (3, 5)),
    "T": (lambda x: x.T.tanh().T @ torch.ones(5, 2), (5,)),
    "split": (lambda x: torch.cat(x.split([2, 3], 1)[::-1], 1), (5,)),
    "chunk": (lambda x: torch.stack(x.chunk(2, -1), 1).sum(1), (6,)),
    "cat": (lambda x: torch.cat([x, torch.zeros(len(x), 2), x.tanh()], dim=1), (5,)),
    "expand": (lambda x: x.unsqueeze(1).expand(-1, 3, -1), (5,)),
    "squeeze": (lambda x: x.squeeze(), (1, 5)),
    "flip": (lambda x: x.flip(-1).roll(1, 1), (5,)),
    "pad": (lambda x: F.pad(x, (1, 2)), (5,)),
    "matmul": (lambda x: torch.matmul(x, torch.arange(10.0).view(5, 2)), (5,)),
    "constant matmul": (lambda x: torch.arange(6.0).view(2, 3) @ x, (3, 4)),
    "linear": (lambda x: F.linear(x, torch.ones(2, 5), torch.ones(2)), (5,)),
    "conv2d": (lambda x: F.conv2d(x, torch.ones(2, 3, 2, 2), stride=2), (3, 6, 6)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, x.size(3)), (3, 6, 6)),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 2), (3, 6, 6)),
    "adaptive overlapping": (lambda x: F.adaptive_avg_pool2d(x, (3, None)), (3, 7, 5)),
    "adaptive line": (lambda x: F.adaptive_avg_pool1d(x, 4), (3, 7)),
    "adaptive larger": (lambda x: F.adaptive_avg_pool1d(x, 5), (3, 3)),
    "batch_norm": (lambda x: F.batch_norm(x, torch.zeros(3), torch.ones(3) * 2), (3, 6)),
    "square": (lambda x: torch.square(x) + x.pow(3), (5,)),
    "types": (lambda x: x.to(torch.float64).double() + torch.zeros_like(x), (5,)),
    "new zeros": (lambda x: x + x.new_zeros(x.size(0), 5), (5,)),
    "assert": (lambda x: x if x.dim() == 2 and x.shape[1] == 5 else -x, (5,)),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_a_function_is_torchs(case: str) -> None:
    function, shape = FUNCTIONS[case]
    check(Call(function), *shape)


def test_what_is_joined() -> None:
    graph = check(nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), 2, 5, 5)
    assert kinds(graph) == [Windows, Function]
    assert [node.name for node in graph.nodes] == ["input", "0", "2"]
    root = math.sqrt(2)
    for function, name in (
        (lambda x: 0.5 * x * (1 + torch.erf(x / root)), "gelu"),
        (lambda x: x * torch.sigmoid(x), "silu"),
        (lambda x: 1 + x * (2 - 3 * x) - x**3 / 2, "polynomial"),
        (lambda x: x * x, "polynomial"),
    ):
        graph = check(Call(function), 5)
        assert kinds(graph) == [Function] and graph.nodes[1].function == name


class Block(nn.Module):  # type: ignore[misc]
    """A block of ResNet-20 for CIFAR-10, with its shortcut without weights."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.more = (outputs - inputs) // 2

    def forward(self, x: Any) -> Any:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more, self.more)) if self.more else x
        return F.relu(out)


def test_a_residual_network() -> None:
    model = nn.Sequential(
        Block(4, 4, 1), Block(4, 8, 2), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(8, 10)
    )
    graph = check(model, 4, 8, 8)
    block = [Windows, Function, Windows]
    pooled = [Sum, Function, Windows, Linear]
    assert kinds(graph) == [*block, Sum, Function, *block, Sparse, *pooled]
    assert "1.conv2" in {node.name for node in graph.nodes}


@pytest.mark.parametrize("act", ["tanh", "relu"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bias": False}, {"bidirectional": True}])
def test_rnn(act: str, options: dict[str, Any]) -> None:
    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.RNN(3, 4, batch_first=True, nonlinearity=act, **options)
            self.head = nn.Linear(4 * (1 + self.rnn.bidirectional), 2)

        def forward(self, x: Any) -> Any:
            states, last = self.rnn(x)
            return self.head(states[:, -1]) + last[-1].mean(1, keepdim=True)

    check(Net(), 3, 3)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bias": False}, {"bidirectional": True}])
def test_lstm(options: dict[str, Any]) -> None:
    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(3, 4, **options)
            self.start = nn.Parameter(torch.randn(2 * len(self.lstm.all_weights), 1, 4))

        def forward(self, x: Any) -> Any:
            count = len(self.lstm.all_weights)
            h, c = self.start.expand(-1, x.size(0), -1).split(count)
            states, (h, c) = self.lstm(x.transpose(0, 1), (h.contiguous(), c.contiguous()))
            return torch.cat([states.sum(0), h[0], c[-1]], 1)

    assert Product in kinds(check(Net(), 3, 3))


@pytest.mark.parametrize(
    "cell", [nn.RNNCell, nn.LSTMCell, functools.partial(nn.RNNCell, bias=False)]
)
def test_cells_in_a_loop(cell: Any) -> None:
    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell(3, 4)

        def forward(self, x: Any) -> Any:
            state = None
            for t in range(x.shape[1]):
                state = self.cell(x[:, t], state)
            return state[0] if isinstance(state, tuple) else state

    graph = check(Net(), 3, 3)
    slices = [node for node in graph.nodes if isinstance(node, Sparse)]
    assert all(node.size == 4 for node in slices)  # they are part of the maps behind them


def test_operations_in_place_change_what_others_see() -> None:
    def alias(x: Any) -> Any:
        y = x.tanh()
        z = y
        z += 1
        y *= 2
        z.sub_(0.5)
        y /= 4
        return F.relu_(z) + y

    check(Call(alias), 5)


def test_weights_that_the_model_computes() -> None:
    linear = torch.nn.utils.parametrizations.weight_norm(nn.Linear(5, 3))
    assert kinds(check(linear, 5)) == [Linear]

    class Mine(nn.Linear):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return F.linear(x, self.weight.abs() / 2, self.bias)

    check(Mine(5, 3), 5)
    hooked = nn.Linear(5, 3)
    hooked.register_forward_hook(lambda module, args, out: out * 2)
    check(nn.Sequential(hooked), 5)


def test_single_precision() -> None:
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh()).float().eval()
    x = torch.randn(3, 5, dtype=torch.float32)
    np.testing.assert_allclose(read_torch(model, (5,))(x), model(x).detach(), atol=1e-5)


@hypothesis.settings(
    suppress_health_check=[
        hypothesis.HealthCheck.function_scoped_fixture,
        hypothesis.HealthCheck.too_slow,
    ]
)
@hypothesis.given(st.data())
def test_random_stacks_of_layers(data: st.DataObject) -> None:
    channels, height, width = (data.draw(st.integers(*ends)) for ends in ((1, 4), (4, 8), (4, 8)))
    shape = channels, height, width
    layers: list[Any] = []
    for _ in range(data.draw(st.integers(1, 6))):
        kind = data.draw(st.sampled_from(["conv", "pool", "act", "norm", "residual", "gate"]))
        if kind == "conv":
            groups = data.draw(st.sampled_from([1, channels]))
            outputs = groups * data.draw(st.integers(1, 3))
            options: dict[str, Any] = {
                "stride": data.draw(st.integers(1, 2)),
                "padding": data.draw(st.integers(1, 2)),
            }
            if data.draw(st.booleans()):
                options = {"padding": "same", "dilation": data.draw(st.integers(1, 2))}
            size = data.draw(st.integers(1, 3))
            layers.append(nn.Conv2d(channels, outputs, size, groups=groups, **options))
            channels = outputs
        elif kind == "pool":
            counts = data.draw(st.booleans())
            layers.append(
                nn.AvgPool2d(2, data.draw(st.integers(1, 2)), 1, count_include_pad=counts)
            )
        elif kind == "act":
            layers.append(data.draw(st.sampled_from([nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh]))())
        elif kind == "norm":
            layers.append(nn.BatchNorm2d(channels))
        elif kind == "residual":
            conv = nn.Conv2d(channels, channels, 3, padding=1)
            layers.append(Call(functools.partial(lambda conv, x: x + conv(x).relu(), conv)))
        else:
            layers.append(Call(lambda x: x * x.mean((2, 3), keepdim=True).sigmoid()))
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 3)]
    check(nn.Sequential(*layers), *shape)


def decides(x: Any) -> Any:
    return x if x.sum(1).max() > 0 else -x


def assigns(x: Any) -> Any:
    x[:, 0] = 0
    return x


def overwrites_a_view(x: Any) -> Any:
    y = x.view(-1, 5, 1)
    x.relu_()
    return y


REFUSED = {
    "max pooling": (F.max_pool2d, "max_pool2d cannot .*; average pooling takes its place"),
    "softmax": (lambda x: x.softmax(-1), "softmax cannot .*; let the model return what softmax"),
    "layer norm": (lambda x: F.layer_norm(x, (5,)), "layer_norm cannot .*; batch normalisation"),
    "clamp": (lambda x: x.clamp(0, 1), r"clamp cannot .*; relu can be"),
    "unknown": (torch.sqrt, "sqrt cannot be computed on encrypted values"),
    "decision": (decides, "max: control flow, indices and numbers .* return x if x.sum"),
    "comparison": (lambda x: x * (x > 0), "gt: control flow, indices and numbers of Python"),
    "truth": (lambda x: x if x.sum(1) else -x, "control flow, indices and numbers of Python"),
    "number": (lambda x: x * float(x[:, 0]), "control flow, indices and numbers of Python"),
    "item": (lambda x: x.sum(1).item(), "item: control flow, indices and numbers of Python"),
    "range": (lambda x: [range(x.sum(1))], "control flow, indices and numbers of Python"),
    "assignment": (assigns, "a part of a tensor is assigned to.*test_read_torch.py, line"),
    "overwritten": (overwrites_a_view, "overwritten in place through another view"),
    "power": (lambda x: x**0.5, "pow: the exponent 0.5 is not a whole number of 1 … 31"),
    "encrypted power": (lambda x: 2**x, "an exponent that is encrypted cannot be used"),
    "quotient": (lambda x: 1 / x, "a division by encrypted values"),
    "zero": (lambda x: x / 0, "truediv: 1 of 1 divisors are 0"),
    "NaN": (lambda x: x * math.nan, "mul: 5 of 5 numbers of the factor are not finite"),
    "dropout": (F.dropout, "dropout: dropout is called with training=True"),
    "pad": (lambda x: F.pad(x, (1, 1), value=2.0), "only padding with zeros can be done"),
    "reflect": (lambda x: F.pad(x, (1, 1), mode="reflect"), "only padding with zeros can be"),
    "joined": (lambda x: torch.cat([x, torch.ones(2, 1)], 1), "constants other than 0 cannot be"),
    "weight": (lambda x: F.linear(x, x), "a weight depends on the input"),
    "product": (lambda x: x @ x.T, "a weight depends on the input"),
    "several": (lambda x: (x, x), "result: the model returns a tuple; it has to return one tensor"),
    "constant": (lambda x: torch.ones(2, 5), "result: the model returns a Tensor"),
    "random": (lambda x: x + torch.rand(5), "computes something else than its code says"),
    "batch's size": (lambda x: x / len(x), "computes something else than its code says"),
    "hard-coded batch": (lambda x: x.view(2, 5), "the model refuses a batch of shape"),
    "statistics": (lambda x: F.batch_norm(x, None, None, training=True), "has no statistics"),
    "ceil": (lambda x: F.avg_pool1d(x[:, None], 2, ceil_mode=True), "ceil_mode makes windows"),
    "missing": (lambda x: x.absent_method(), "absent_method cannot be computed"),
    "own error": (lambda x: [][0], "torch.fx cannot follow the model .Call.: list index out of"),
}

MISFITS = {
    "sizes": (lambda x: F.linear(x, torch.ones(2, 4)), "linear: a weight of shape"),
    "sum": (lambda x: x + torch.ones(4), "add: shapes .* differ"),
    "samples": (lambda x: x.view(-1), "view: .* mixes the samples of a batch"),
    "first": (lambda x: x[0], "getitem: .* mixes the samples of a batch"),
    "mean": (lambda x: x.mean(), "mean: axis 0 is the batch"),
    "axis": (lambda x: x.mean(4), "mean: a tensor of shape .* has no axes"),
    "turned": (lambda x: x.T, "the batch is axis 1 of the result"),
    "turned linear": (lambda x: F.linear(x.T, torch.ones(2, 2)), "the last axis .* is the batch"),
    "batches": (lambda x: x[:, None] + x[None, :], "differ|the batch is axis"),
    "view": (lambda x: x.view(-1, 7), "view: shape .* is invalid"),
    "windows": (lambda x: F.adaptive_avg_pool1d(x[:, None], 0), "windows leave nothing"),
    "constant": (lambda x: x + torch.arange(2).view(2, 1), "differs from sample to sample"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_by_name(case: str) -> None:
    function, message = REFUSED[case]
    if function is F.max_pool2d:
        function = lambda x: F.max_pool2d(x[:, None, None], (1, 2))  # noqa: E731
    with pytest.raises(whorl.ParameterError, match=message):
        read_torch(Call(function).eval(), (5,))


@pytest.mark.parametrize("case", MISFITS)
def test_shapes_that_do_not_fit_are_refused(case: str) -> None:
    function, message = MISFITS[case]
    with pytest.raises(whorl.ShapeError, match=message) as caught:
        read_torch(Call(function).eval(), (5,))
    assert (
        "result" in message
        or "Call" in str(caught.value)
        or "test_read_torch.py" in str(caught.value)
    )


def test_layers_are_named_with_type_and_line() -> None:
    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2))

        def forward(self, image: Any) -> Any:
            return self.features(image)

    with pytest.raises(
        whorl.ParameterError,
        match=r"^features\.1: max_pool2d cannot .* \(MaxPool2d; test_read_torch.py, line \d+: "
        r"return self\.features\(image\)\)$",
    ):
        read_torch(Net().eval(), (1, 6, 6))
    with pytest.raises(whorl.ShapeError, match=r"^features\.0: a convolution .* \(Conv2d; test_"):
        read_torch(Net().eval(), (2, 6, 6))


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular"), (1, 5, 5), "with zeros"),
        (lambda: nn.BatchNorm1d(5, track_running_stats=False), (5,), "has no statistics"),
        (lambda: nn.LSTM(3, 4, proj_size=2), (2, 3), "LSTM: proj_size is not supported"),
        (lambda: nn.RNN(3, 4), (3,), "RNN: the operand has shape .* it has to have 3 axes"),
        (lambda: nn.GRU(3, 4), (2, 3), "cannot.*; LSTM or RNN can be"),
        (lambda: nn.ConvTranspose2d(1, 1, 3), (1, 5, 5), "conv_transpose2d cannot be computed"),
    ],
)
def test_layers_that_cannot_be_done(layer: Any, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises((whorl.ParameterError, whorl.ShapeError), match=message):
        read_torch(layer().eval(), shape)


def test_models_that_are_not_ready() -> None:
    model = nn.Sequential(nn.Linear(5, 3), nn.Dropout())
    with pytest.raises(whorl.ParameterError, match=r"in training mode; call model\.eval"):
        read_torch(model, (5,))
    model.eval()
    model[1].train()
    with pytest.raises(whorl.ParameterError, match=re.escape("1 (Dropout) is in training mode")):
        read_torch(model, (5,))
    model.eval()
    model[0].bias.data[1] = math.inf
    with pytest.raises(whorl.ParameterError, match=r"^0.bias: 1 of 3 numbers of the weights"):
        read_torch(model, (5,))
    with pytest.raises(whorl.ParameterError, match="weights are complex"):
        read_torch(nn.Linear(5, 3, dtype=torch.complex128).eval(), (5,))
    with pytest.raises(whorl.ShapeError, match="has no values for each sample"):
        read_torch(nn.Tanh().eval(), ())


def test_a_model_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)).eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = torch.randn(2, 5)
    expected = model(x)
    read_torch(model, (5,))
    assert torch.equal(model(x), expected)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_the_model_of_the_page_is_read() -> None:
    """With torch's own kind of floats; and what is saved of it is its network."""
    names = run_page()
    net = names["torch_net"]
    assert net.levels == (3, 2, 1, 0) and net.bootstraps == 0
    x = np.random.default_rng(3).uniform(0, 1, (5, 1, 8, 8))
    np.testing.assert_allclose(net.simulate(x), results_of(names["digits"], x), atol=1e-5)
    saved = whorl.nn.load(SAVED)
    assert [(type(each), each.shape, each.inputs) for each in saved.graph.nodes] == [
        (type(each), each.shape, each.inputs) for each in net.graph.nodes
    ]
