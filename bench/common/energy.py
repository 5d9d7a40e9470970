"""Energy that a GPU uses, by its own counter: common/energy.h for benches in Python."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from whorl.errors import DeviceError

from common.records import Record, append

METHOD = "nvmlDeviceGetTotalEnergyConsumption"
WARM_UP = 0.25
"""Seconds that do not count."""
STILL = 5.0
"""Seconds after which a counter that does not move is given up."""
TOGETHER = 0.02
"""Seconds of calls that are queued before a wait."""
MOST = 200
"""Calls that are queued before a wait."""


def nvml(number: int) -> Callable[[], float]:
    """Reads joules since the driver was loaded, of the GPU that has this number in its order.

    The driver brings libnvidia-ml.so.1. `DeviceError` says what is missing.
    """
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        raise DeviceError(
            f"energy: {error}; the driver of an NVIDIA GPU brings it. --energy 0 leaves energy out"
        ) from None

    def call(name: str, *arguments: Any) -> None:
        try:
            code = getattr(library, name)(*arguments)
        except AttributeError:
            raise DeviceError(f"libnvidia-ml.so.1 has no {name}") from None
        if code:
            raise DeviceError(
                f"{name} fails with NVML's code {code}; energy cannot be measured here: --energy 0 "
                "leaves it out"
            )

    handle, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    call("nvmlInit_v2")
    call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(number), ctypes.byref(handle))

    def joules() -> float:
        call(METHOD, handle, ctypes.byref(millijoules))
        return 1e-3 * millijoules.value

    joules()
    return joules


def number_of(devices: Sequence[str], visible: str | None) -> int:
    """The driver's number of a server's only device, such as "cuda:1 (NVIDIA H200)", where
    CUDA_VISIBLE_DEVICES is `visible`.

    It is the number at that place of the list, if there is one, and else the place itself.
    `DeviceError` for several devices.
    """
    if len(devices) != 1:
        raise DeviceError(
            f"energy is measured of one GPU, such as cuda:0, and not of {', '.join(devices)}"
        )
    ordinal = int(devices[0].partition(" ")[0].removeprefix("cuda:"))
    listed = (visible or "").split(",")
    if ordinal < len(listed) and listed[ordinal].isdecimal():
        return int(listed[ordinal])
    return ordinal


def measured(
    blank: Record,
    joules: Callable[[], float],
    call: Callable[[], Any],
    wait: Callable[[], Any],
    seconds: float,
    things: float,
) -> Record:
    """A record like `blank`: joules of a call over its `things`."""

    def timed() -> float:
        begun = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - begun

    def repeat(least: float) -> int:
        together = int(min(max(TOGETHER / max(timed(), 1e-9), 1), MOST))
        calls, begun = 1, time.perf_counter()  # the one that was timed
        while time.perf_counter() - begun < least:
            for _ in range(together):
                call()
            wait()
            calls += together
        return calls

    def next_step() -> tuple[float, int]:
        """The counter right after it moved, since it moves in steps of some 0.1 s; and calls."""
        before, begun, calls = joules(), time.perf_counter(), 0
        while True:
            timed()
            calls += 1
            now = joules()
            if now != before:
                return now, calls
            if time.perf_counter() - begun > STILL:
                raise DeviceError("the GPU's energy counter stands still: --energy 0 leaves it out")

    repeat(WARM_UP)
    first, _ = next_step()
    begun = time.perf_counter()
    calls = repeat(seconds)
    last, more = next_step()
    calls += more
    took = time.perf_counter() - begun
    value = (last - first) / calls / things
    return {
        **blank,
        "op": f"{blank['op']}_energy",
        "unit": "J",
        **dict.fromkeys(("median", "min", "max"), value),
        "runs": 1,
        "watts": (last - first) / took,
        "calls": calls,
        "seconds": took,
        "method": METHOD,
    }


def add_energy(
    path: Path | None,
    blank: Record,
    server: Any,
    call: Callable[[], Any],
    seconds: float = 1,
    things: float | None = None,
    counter: Callable[[int], Callable[[], float]] = nvml,
) -> None:
    """Repeats `call` for `seconds`, after a quarter of a second that does not count, and appends a
    record like `blank`: joules of one call over its `things`, by default those of the batch.

    `call` queues work of `server`, and need not wait. Nothing is done for 0 seconds, and unless the
    server is on a GPU. `DeviceError` for several GPUs, and if their counter cannot be read.
    """
    if not seconds or not server.devices[0].startswith("cuda"):
        return
    joules = counter(number_of(server.devices, os.environ.get("CUDA_VISIBLE_DEVICES")))
    line = measured(blank, joules, call, server.synchronise, seconds, things or blank["batch"])
    print(f"{line['op']}: {line['median']:.4g} J, {line['watts']:.0f} W", flush=True)
    append(path, line)
