"""What the site's search weighs: words that newcomers type for a page, and kinds of pages."""

from __future__ import annotations

import re

from site_pages import ROOT

WORDS = {
    "index.md": "licence license",
    "getting-started.md": "install installation setup begin first program hello python version "
    "platform platforms supported linux windows macos arm compiling minutes",
    "building.md": "install compile compiling build building cmake pip",
    "start-here.md": "scheme which choose beginner introduction homomorphic FHE large size bytes "
    "memory keys multiplications depth",
    "choosing.md": "scheme which choose device library",
    "recipes.md": "compare comparison adder example snippet 64 bit integers sort sorting max "
    "maximum min minimum condition branch statement matrix multiplication",
    "jobs.md": "example program job matrix multiplication max maximum process processes",
    "glossary.md": "glossary word meaning what",
    "project/packaging.md": "wheel conda image docker pip licence license",
    "gpu.md": "GPU CUDA NVIDIA",
    "networks.md": "neural network convolution relu model inference torch",
    "networks-without-bootstraps.md": "neural network square activation levels fast MNIST",
    "circuits.md": "circuit netlist Verilog BLIF yosys synthesis HDL gates adder ALU compile",
    "tracing.md": "compiler integers NumPy function table maximum compare relu quantised trace",
    "integers.md": "uint8 uint64 int64 add multiply divide compare sort argmax shift wrap overflow",
    "lanes.md": "bits exact SIMD batch gates thousands lanes logic CKKS boolean AES transciphering",
    "lanes-programs.md": "decision tree table lookup sort multiply popcount median AES rows lanes",
    "cli.md": "command shell terminal save file",
    "python-api.md": "save file array",
    "file-format.md": "file save load bytes",
    "algorithm.md": "bootstrapping bootstrap",
    "ckks.md": "bootstrapping real complex approximate floating float decimal division max maximum "
    "matrix multiplication",
    "bgv.md": "integers exact vector matrix multiplications",
    "noise.md": "noise refused NoiseError failure wrong error message",
    "parameters.md": "parameters set level bits",
    "security.md": "secure security safe checklist",
    "project/security.md": "secure security vulnerability audit promise",
    "methods.md": "patent licence license method paper cite",
    "portal.md": "benchmark speed fast performance plot",
    "accelerator.md": "FPGA hardware accelerator",
    "openfhe-migration.md": "OpenFHE",
    "ckks-from-others.md": "OpenFHE TenSEAL Lattigo",
    "from-tfhe-rs.md": "tfhe-rs Zama",
    "from-concrete.md": "Concrete Zama compiler",
    "from-tenseal.md": "TenSEAL SEAL BFV",
    "from-lattigo.md": "Lattigo Go multiparty threshold",
    "applications/sign.md": "compare comparison greater less round",
    "applications/resnet.md": "image picture recognise classify network ResNet",
    "applications/mnist.md": "MNIST many images batch dense layer network",
    "applications/mnist_tables.md": "MNIST digits table neuron network FHEW TFHE",
    "applications/lookup.md": "private retrieval database",
    "applications/sentiment.md": "text sentence classify recurrent RNN LSTM",
    "tutorials/gates.md": "gate bits Boolean vote",
    "tutorials/tables.md": "function lookup table",
    "tutorials/bgv-statistics.md": "mean average sum variance statistics",
    "tutorials/ckks-regression.md": "regression train model learning",
    "tutorials/tree.md": "decision tree classify",
    "tutorials/accelerator.md": "FPGA simulate model",
}
"""Words by the places of pages; a page that has one of them comes first."""

BOOSTS = {
    "glossary.md": 0.8,
    "tutorials/": 2.0,
    "project/": 0.5,
    "applications/": 0.5,
    "adr/": 0.2,
    "papers/": 0.2,
    "performance/": 0.2,
    "reference/": 0.2,
}
"""Weights by folders and pages; other pages of docs/ have 1."""


def words(place: str) -> str:
    """Those of a page; the glossary also has all that it explains."""
    own = WORDS.get(place, "")
    if place != "glossary.md":
        return own
    text = (ROOT / "docs" / place).read_text(encoding="utf-8")
    return " ".join([own, *re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)])


def meta(place: str) -> dict[str, object]:
    """What a page's metadata says for the search."""
    boost = next((b for folder, b in BOOSTS.items() if place.startswith(folder)), 1.0)
    # The search compares words of arrays in lower case only.
    return {"tags": re.findall(r"[\w-]+", words(place).lower()), "search": {"boost": boost}}
