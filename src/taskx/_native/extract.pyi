from collections.abc import Iterable, Mapping

from typing_extensions import disjoint_base

def language_abi(capsule: object) -> int: ...
def node_types(capsule: object) -> list[tuple[str, bool]]: ...

@disjoint_base
class GrammarTable:
    def __new__(
        cls,
        capsule: object,
        lang: int,
        rules: Iterable[tuple[str, int, int, int, str, tuple[str, ...]]],
        roles: Mapping[str, int],
    ) -> GrammarTable: ...
    def field(self, name: str) -> int: ...

@disjoint_base
class TreeParser: ...
