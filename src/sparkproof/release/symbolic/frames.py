"""Where an expression is evaluated: names, the class around it, and the run it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkproof.release.symbolic.modules import Module
from sparkproof.release.symbolic.values import ClassValue, Value

if TYPE_CHECKING:
    from sparkproof.release.symbolic.interpreter import Run


@dataclass
class Frame:
    """The names of one call.

    Attributes:
        parent: the frame around a nested function.
        owner: the class in whose body the running function stands.
        dynamic: the class or object that it was called on.
        function: name of the running function ("" at the top of a module).
    """

    run: Run
    module: Module
    names: dict[str, Value] = field(default_factory=dict)
    parent: Frame | None = None
    owner: ClassValue | None = None
    dynamic: Value | None = None
    depth: int = 0
    function: str = ""

    @property
    def symbol(self) -> str:
        """The running function, also from inside a comprehension of it."""
        frame: Frame | None = self
        while frame is not None and not frame.function:
            frame = frame.parent
        return frame.function if frame is not None else ""

    def find(self, name: str) -> Value | None:
        """The value of a local or enclosing name."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        return None


class Returned(Exception):  # noqa: N818
    """Control flow: a ``return`` of the source."""

    def __init__(self, value: Value, line: int) -> None:
        super().__init__()
        self.value = value
        self.line = line


class Raised(Exception):  # noqa: N818
    """Control flow: a ``raise`` of the source, or an import that fails."""

    def __init__(self, kind: str, message: str, line: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.line = line


class Continued(Exception):  # noqa: N818
    """Control flow: ``continue``."""


class Broken(Exception):  # noqa: N818
    """Control flow: ``break``."""


CONTROL_FLOW = (Returned, Raised, Continued, Broken)
"""What leaves a run; outside of what it belongs to, the source is broken."""


class UnreadableError(Exception):
    """A construct that the interpreter does not follow; becomes an `Unknown`."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.line = line
