"""Adds encrypted bits on the simulated FPGA accelerator: a one-bit full adder.

A client encrypts all eight values of two bits and a carry. A server that holds no secret key
computes sums and carries on the accelerator of rtl/, simulated cycle by cycle by Verilator, and
compares its results with the CPU's, bit for bit. A picture shows how busy the units of the core
were, and a waveform shows a coefficient on its way.

Exit status: 0 if each sum and carry decrypted is that in the clear, and the accelerator's results
are the CPU's; 1 if not.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common.application import Exchange, finish, overheads, parser_of
    from common.files import write_json
    from common.output import rows, size
    from common.processes import fresh_folder, stage

    from rtl import circuit, core, picture, waves
    from rtl.record import OCCUPANCY, WAVES, WAVES_CYCLES, WAVES_SLOT, Occupancy
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

RUNS = {"rotate": "rotation", "key_switch": "key switch"}
COUNTERS = {
    "CYCLES": "cycles",
    "SLOTS": "slots",
    "PE_SLOTS": "slots of processing elements",
    "WAIT_KEY": "cycles waiting for the key",
    "WAIT_ACC": "cycles waiting for an accumulator",
    "WAIT_LOAD": "cycles waiting for inputs",
    "BK_BEATS": "beats of the key, first port",
    "KSK_BEATS": "beats of the switching key",
    "IO_READ_BEATS": "beats of inputs",
    "IO_WRITE_BEATS": "beats of results",
    "KS_BUSY": "cycles with a product in key switching",
    "RESULTS": "ciphertexts",
}


def compute(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("rtl", arguments.workdir)
    write_json(sides.client / "offer.json", {"parameters": circuit.PARAMETERS})
    np.save(sides.client / "bits.npy", circuit.every_input())
    options: list[str] = []
    if arguments.device == "rtl":
        options = ["--core", str(arguments.library), "--record", str(folder)]
    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts bits",
            "server: simulates the accelerator as it adds encrypted bits",
            "client: decrypts sums and carries",
        ),
        options,
    )


def report(told: dict[str, Any], simulated: bool) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served = told["served"]
    expected = circuit.in_clear(circuit.every_input())
    bits = np.array(told["read"]["bits"])
    if bits.shape != expected.shape:
        sys.exit(f"results of shape {bits.shape}; {expected.shape} were asked for")
    counters = {name: look_up["counters"] for name, look_up in served["lookups"].items()}
    runs = [run for each in counters.values() for run in each.values()]
    cycles = sum(run["CYCLES"] for run in runs)
    return {
        **overheads(told),
        "bits": bits.tolist(),
        "right": int((bits == expected).sum()),
        "bootstraps": bits.size,
        "as_on_cpu": served["as_on_cpu"],
        "failure_log2": served["failure_log2"],
        "simulated": simulated,
        "seconds_server": served["seconds"],
        "seconds_cpu": served["cpu_seconds"],
        "bytes_query": told["bytes"]["query"],
        "bytes_answer": told["bytes"]["answer"],
        "counters": counters,
        "cycles": cycles,
        "utilisation": utilisation(counters),
        "seconds_projected": cycles / (core.MHZ * 1e6),
    }


def utilisation(counters: dict[str, dict[str, dict[str, int]]]) -> float:
    """The part of the blind rotations' cycles in which the multipliers of the PEs have a product:
    a slot takes a row a cycle."""
    shape = core.shape()
    rotations = [runs["rotate"] for runs in counters.values() if "rotate" in runs]
    rows_of_slots = sum(run["PE_SLOTS"] for run in rotations) << (
        shape["LOG_N"] - 1 - shape["LOG_B"]
    )
    return rows_of_slots / max(1, sum(run["CYCLES"] for run in rotations) * shape["PES"])


def recorded(folder: Path, result: dict[str, Any]) -> None:
    """The picture, and files for those who look at the waveform."""
    shape = core.shape()
    occupancy = Occupancy.load(folder / OCCUPANCY)
    begin = occupancy.where("slots", WAVES_SLOT)
    title = (
        f"{result['bootstraps']} bootstraps of {result['parameters']} on the simulated core: "
        f"{shape['PES']} processing element, {shape['K']} ciphertexts in turn"
    )
    path = folder / "occupancy.png"
    picture.draw(occupancy, shape["BK_PORTS"], (begin, begin + WAVES_CYCLES), title, path)
    if not (folder / WAVES).exists():
        sys.exit("the core records no waveform: build it with WAVES=1")
    saved, commands = waves.write(folder, shape["LOG_N"])
    result["busy_cycles"] = {unit: occupancy.total(unit) for unit in occupancy.busy}
    result["waves_begin"] = begin
    result["files"] = {
        "picture": str(path),
        "occupancy": str(folder / OCCUPANCY),
        "waveform": str(folder / WAVES),
        "gtkwave": str(saved),
        "surfer": str(commands),
    }


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    by = "simulated cycle by cycle" if r["simulated"] else "or rather its model"
    print(f"""
What happened
  A client encrypted two bits and a carry, in all eight ways. A server that holds no secret key
  added them on the FPGA accelerator, {by}: two look-ups for each.
  The client decrypted:
""")
    inputs = circuit.every_input()
    print("  " + "".join(f"{name:>11}" for name in (*circuit.INPUTS, *circuit.OUTPUTS)))
    for column in np.concatenate([inputs, np.array(r["bits"])]).T:
        print("  " + "".join(f"{bit:>11}" for bit in column))
    print()
    total = 2 * inputs.shape[1]
    rows(
        ("bits as in the clear", f"{r['right']} of {total}"),
        ("ciphertexts as on the CPU", "bit for bit" if r["as_on_cpu"] else "NOT the same"),
        ("", ""),
    )
    columns = [(gate, RUNS[run]) for gate, runs in r["counters"].items() for run in runs]
    for title, names in zip(("counted by the core", ""), zip(*columns, strict=True), strict=True):
        print(f"  {title:<41}" + "".join(f"{name:>12}" for name in names))
    for key, what in COUNTERS.items():
        values = [run[key] for runs in r["counters"].values() for run in runs.values()]
        print(f"  {what:<41}" + "".join(f"{value:>12,}" for value in values))
    print()
    each = 1e3 * r["seconds_projected"] / r["bootstraps"]
    rows(
        (f"all, projected to {core.MHZ:.0f} MHz", f"{1e3 * r['seconds_projected']:.2f} ms"),
        ("of which a bootstrap, projected", f"{each:.3f} ms"),
        ("multipliers busy during rotations", f"{100 * r['utilisation']:.1f} %"),
        (
            "the simulation on this machine" if r["simulated"] else "the model on this machine",
            f"{r['seconds_server']:.1f} s",
        ),
        ("the same on the CPU", f"{r['seconds_cpu']:.2f} s"),
        ("server's device", r["device"]),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("evaluation keys, sent once", size(r["bytes_keys"])),
        ("to the server", size(r["bytes_query"])),
        ("back", size(r["bytes_answer"])),
        ("", ""),
        ("parameter set", r["parameters"]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
        ("wrong by noise, a look-up", f"at most 2^{math.ceil(r['failure_log2'])}"),
    )
    files = r.get("files")
    if not files:
        return
    folder = Path(files["waveform"]).parent
    print()
    rows(
        ("how busy the units were", files["picture"]),
        ("the same as numbers", files["occupancy"]),
        (f"waveform, {WAVES_CYCLES:,} cycles", files["waveform"]),
        ("look at it with GTKWave", f"cd {folder} && gtkwave {Path(files['gtkwave']).name}"),
        (
            "or with Surfer",
            f"cd {folder} && surfer {WAVES} --command-file {Path(files['surfer']).name}",
        ),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("rtl", __doc__)
    parser.set_defaults(device="rtl")
    parser.add_argument("--core", type=Path, help="library of the core; default: it is built")
    arguments = parser.parse_args(argv)
    if arguments.device not in ("rtl", "rtl-model"):
        parser.error(f"--device: {arguments.device} is not rtl or rtl-model")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    simulated = arguments.device == "rtl"
    folder = fresh_folder(arguments.workdir / "record")
    build_seconds = 0.0
    if simulated:
        with stage("Verilator makes a program of the core"):
            arguments.library = arguments.core or core.build(arguments.workdir.parent / "rtl-core")
        build_seconds = time.perf_counter() - started
    else:
        arguments.device = core.device(arguments.device)
    result = report(compute(arguments, folder), simulated)
    result["seconds_build"] = build_seconds
    if simulated:
        recorded(folder, result)
    tell(result)
    rows(("building the simulation", f"{build_seconds:.1f} s"))
    return finish(result, started, arguments, failure(result))


def failure(result: dict[str, Any]) -> str | None:
    """What went wrong, if anything did."""
    if result["right"] != np.array(result["bits"]).size:
        return "a bit decrypted is not that in the clear"
    if not result["as_on_cpu"]:
        return "the accelerator's ciphertexts are not the CPU's"
    expected = {gate: sorted(RUNS) for gate in result["counters"]}
    if {gate: sorted(runs) for gate, runs in result["counters"].items()} != expected:
        return "a part of the look-ups did not run on the accelerator"
    return None


if __name__ == "__main__":
    sys.exit(main())
