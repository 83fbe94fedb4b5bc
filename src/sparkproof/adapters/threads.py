"""Work in a thread of its own, whose error is told to the one that asks for its outcome."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def begin(work: Callable[[], T], name: str) -> Future[T]:
    """Start `work` in a thread that holds up no exit.

    Not an executor: the interpreter waits for an executor's threads when it ends.

    Returns:
        What its value, or the error that it ended in, is asked of.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - raised again in the thread that asks
            outcome.set_exception(error)
        else:
            outcome.set_result(value)

    Thread(target=run, name=name, daemon=True).start()
    return outcome
