import os
import a.b as ab, c
from . import sibling
from ..pkg.mod import (one as uno, two)
from star import *

LIMIT: int = 3
x = y = 1
(first, second) = 1, 2
type Alias = list[int]

if TYPE_CHECKING:
    from typing import Any

try:
    import fast
except ImportError:
    fast = None


@decorator(
    argument=1,
)
class Shape(Base, metaclass=Meta):
    """A class."""

    sides = 4
    name: str

    @property
    def area(self) -> int:
        import inner

        def nested():
            class Deep: ...

        return f"{self.sides!r} {'}'}"

    @overload
    async def load(self, value: int, *args, **kwargs): ...

    class Inner:
        def method(self): pass


def top(a, b=lambda q: q): return a


async def later(): pass
