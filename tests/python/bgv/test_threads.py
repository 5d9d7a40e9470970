"""Threads, the collector of garbage, and Ctrl-C beside calls in progress."""

from typing import Any

import numpy as np
from support import BgvKit


def test_two_threads_share_a_server(toy_bgv: BgvKit) -> None:
    from concurrent.futures import ThreadPoolExecutor

    client, server = toy_bgv.client, toy_bgv.server
    arrays = [server.upload(client.encrypt([i, 1])) for i in range(6)]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda a: (a * a + 1).rotate(1), arrays))
    for i, result in enumerate(results):
        values = client.decrypt(result)
        assert values[0] == 2 and values[toy_bgv.N // 2 - 1] == i * i + 1


def test_arrays_are_dropped_while_others_work(toy_bgv: BgvKit) -> None:
    """By the collector of garbage, in whichever thread it runs: calls hold no GIL."""
    import gc
    import threading

    client, server = toy_bgv.client, toy_bgv.server
    values = np.arange(8 * 4).reshape(8, 4)
    a = server.upload(client.encrypt(values))
    table = server.encode(values)
    expected = a * a + table
    due = expected.to_host().data
    done, failures = threading.Event(), []

    def drop() -> None:
        while not done.is_set():
            # In cycles, so that nothing but the collector frees them.
            for make in (lambda: a[::-1], lambda: a[0] + 1, lambda: table[::2], lambda: a[1]):
                cycle: list[Any] = [make()]
                cycle.append(cycle)
                del cycle
            gc.collect()

    def work() -> None:
        try:
            for _ in range(15):
                if not np.array_equal((a * a + table).to_host().data, due):
                    failures.append("other bits")
        except Exception as error:
            failures.append(repr(error))

    droppers = [threading.Thread(target=drop) for _ in range(2)]
    workers = [threading.Thread(target=work) for _ in range(2)]
    for thread in (*droppers, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    for thread in droppers:
        thread.join()
    assert not failures
    assert np.array_equal(client.decrypt(expected)[:, :4], (values**2 + values) % toy_bgv.t)
