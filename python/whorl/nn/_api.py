"""What users call: models into networks, and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._core.literal import as_integer
from .._core.paths import PathName, as_path
from .._core.progress import Report
from .._core.saved import file_named, limit
from .._core.text import shown
from ..ckks._parameters import Parameters
from ..errors import IoError, OversizedError
from ._compile import compile_graph
from ._ends import Ends
from ._file import MOST_BYTES
from ._graph import Graph, reals
from ._network import Network
from ._read import read
from ._saved import ends_from, network_from


def compile(
    model: Any,
    examples: Any,
    *,
    seen: Sequence[float] | None = None,
    margin: float = 1.25,
    precision: float = 2**-9,
    images: int = 1,
    max_key_bytes: int | None = None,
    parameters: Parameters | None = None,
    progress: bool | Report | None = None,
) -> Network:
    """A network that runs on ciphertexts, of a model that was trained in clear.

    The steps are plain objects that can be looked at: *fit* takes the range of each tensor from
    examples and a polynomial for each function (`Network.fit`); *pack* lays tensors out in slots
    and makes a map of each linear layer; *place* puts bootstraps where they cost least
    (`Network.steps`); *keys* says what the client must make (`Network.keys`).

    An input whose tensors leave the fitted ranges gives a wrong result, and nobody can see that in
    ciphertexts. So take examples of all kinds, and a margin. `Network.simulate` says it of inputs
    in clear.

    Args:
        model: a `torch.nn.Module`, an ONNX model or its file, a model of scikit-learn, or a `Graph`
            of a `Builder`. The model's framework is not needed afterwards.
        examples: inputs of shape (batch, *shape), at least one.
        seen: for each node of a graph the largest absolute value that further examples have
            there, as `graph.tensors` gives them; `[each.seen for each in net.fit.ranges]` are those
            of `net.graph`. So ranges may come from data that cannot be passed on. Errors are found
            on `examples`.
        margin: ranges are so many times the largest absolute value among the examples, 1 or more.
        precision: how close polynomials are to functions, relative to the largest result over
            the operand's scale, 2^-30 … 1/2. A relu differs by at most half of it, relative to that
            scale, and takes 2^-24 or more. The scale is the range, that of a sum up to twice its
            range, and that of a product the product of its factors' scales, which may be far above.
        images: how many inputs a ciphertext holds, a power of two. All of them are computed in the
            time of one.
        max_key_bytes: the most that the file of the keys may take; default: any number. If it is
            larger, maps are cut into steps with fewer rotations, which takes a little more time.
        parameters: of CKKS; default: the smallest that serve, with bootstraps where they are
            needed.
        progress: True for bars, or a callable that is called with (done, total): for layouts, and
            then for steps.

    `ParameterError` for numbers out of range, for examples that the polynomials lead out of the
    ranges (up to 32 ciphertexts of them are tried), for a network that no parameters carry, and for
    keys above `max_key_bytes`. `ShapeError` for examples of another shape, for tensors of more than
    64 ciphertexts, and with `images` above 1 for those that do not fit one. `EncodingError` for
    numbers that are not finite, and for ranges between which weights do not fit a plaintext.

    A `PrecisionWarning` says that the polynomials lead a channel of the examples' results further
    from the model's than 1/16 of its largest value; `Network.difference` has the difference.
    """
    if parameters is not None and not isinstance(parameters, Parameters):
        raise TypeError(
            f"parameters: {shown(parameters)} is a {type(parameters).__name__}, not "
            "`ckks.Parameters`: take ckks.parameters(...)"
        )
    given = reals(examples, "examples")
    graph = model if isinstance(model, Graph) else read(model, given.shape[1:])
    limit_of_keys = (
        None if max_key_bytes is None else as_integer("max_key_bytes", max_key_bytes, 0, 2**63)
    )
    return compile_graph(
        graph,
        given,
        seen=seen,
        margin=margin,
        precision=precision,
        images=images,
        max_key_bytes=limit_of_keys,
        parameters=parameters,
        progress=progress,
    )


def load(path: PathName, *, allow_insecure: bool = False, max_bytes: int | None = None) -> Network:
    """A network that `Network.save` wrote.

    A file holds a graph and numbers, and nothing that is run. `FormatError`, or one of its kinds,
    names the file for what is no network, `OversizedError` for one above `max_bytes` (default:
    16 GiB), `ParameterError` for parameters of less than 128 bits of security unless
    `allow_insecure` says that they may be.
    """
    with file_named(path) as name:
        return network_from(_bytes_of(name, max_bytes), max_bytes, allow_insecure)


def load_ends(
    path: PathName, *, allow_insecure: bool = False, max_bytes: int | None = None
) -> Ends:
    """The ends of a network, for clients, that `Ends.save` wrote; errors as of `load`."""
    with file_named(path) as name:
        return ends_from(_bytes_of(name, max_bytes), max_bytes, allow_insecure)


def _bytes_of(name: str, max_bytes: int | None) -> bytes:
    most = limit("max_bytes", max_bytes, MOST_BYTES)
    try:
        path = Path(as_path(name))
        if (size := path.stat().st_size) > most:
            raise OversizedError(f"{name}: a network of {size} bytes is above {most}")
        return path.read_bytes()
    except OSError as error:
        raise IoError(f"{name}: {error.strerror or error}") from None
