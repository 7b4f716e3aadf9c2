"""Languages whose imports name a package or namespace, not a file.

Java, Kotlin, Scala, C#, PHP, Haskell, Elixir, Swift: the files of a namespace are known from the
clause each file opens with (or from the modules it defines), so a name leads to the files that
declare its namespace and define it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from taskx.workspace.graph.resolvers.base import (
    INCLUDE,
    PACKAGE,
    WILDCARD,
    ImportRow,
    Link,
    PathIndex,
    join,
    parent,
)

Defines = Callable[[int, str], bool]
"""Whether a file defines a top-level name."""


class NamespaceResolver:
    """Imports by dotted (or `\\`-separated) names.

    clauses: file id -> the namespaces it declares.
    defines: whether a file defines a name at its top level.
    separator: between the parts of a name.
    case: False where names are compared without case (PHP).
    """

    def __init__(
        self,
        files: PathIndex,
        clauses: Mapping[int, Iterable[str]],
        defines: Defines,
        separator: str = ".",
    ) -> None:
        self.files = files
        self.defines = defines
        self.separator = separator
        self.members: dict[str, list[int]] = defaultdict(list)
        for fid, names in clauses.items():
            for name in dict.fromkeys(names):
                self.members[self._clean(name)].append(fid)
        self._memo: dict[tuple[str, str, int], tuple[tuple[int, ...], str]] = {}

    def _clean(self, name: str) -> str:
        return name.strip().strip(self.separator)

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        if row.kind == PACKAGE:
            return []
        if row.kind == INCLUDE:
            return self._included(source, row.module)
        dotted = self._clean(row.module)
        if row.name and row.name != "*":
            dotted = f"{dotted}{self.separator}{row.name}" if dotted else row.name
        if row.kind == WILDCARD or row.name == "*":
            return self._wildcard(dotted)
        files, name = self._named(dotted)
        if not files:
            return self._wildcard(dotted) if not row.alias else []
        return [Link(files, name, row.alias or dotted.rpartition(self.separator)[2])]

    def _included(self, source: str, spec: str) -> list[Link]:
        place = join(parent(source), spec)
        found = self.files.get(place) if place is not None else None
        return [] if found is None else [Link((found,), "*")]

    def _wildcard(self, dotted: str) -> list[Link]:
        files = self.members.get(dotted)
        if files:
            return [Link(tuple(files), "*", used=True)]
        found, name = self._named(dotted)  # members of a type: `import static a.B.*`
        return [Link(found, name)] if found else []

    def _named(self, dotted: str) -> tuple[tuple[int, ...], str]:
        """(files, name): the longest known namespace that is a prefix, and the name in it."""
        parts = dotted.split(self.separator)
        for used in range(len(parts) - 1, -1, -1):
            namespace = self.separator.join(parts[:used])
            if namespace not in self.members:
                continue
            name = parts[used]
            files = tuple(f for f in self.members[namespace] if self.defines(f, name))
            if files:
                return files, name
        return (), ""


class ModuleResolver:
    """Imports by the name of a module that some file declares (Haskell, Elixir).

    modules: file id -> the full names of the modules it declares.
    """

    def __init__(self, modules: Mapping[int, Iterable[str]]) -> None:
        self.modules: dict[str, list[int]] = defaultdict(list)
        for fid, names in modules.items():
            for name in dict.fromkeys(names):
                self.modules[name.strip()].append(fid)

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        if row.kind == PACKAGE:
            return []
        links = []
        for dotted in _expanded(row.module):
            files = tuple(self.modules.get(dotted, ())[:3])
            alias = row.alias or dotted.rpartition(".")[2]
            if files and row.name and row.name != "*":
                links.append(Link(files, row.name, row.alias or row.name))
            elif files:
                links.append(Link(files, "*" if row.kind == WILDCARD else "", alias))
        return links


def _expanded(module: str) -> list[str]:
    """`A.{B, C}` (Elixir) names several modules."""
    head, brace, tail = module.partition("{")
    if not brace:
        return [module.strip()]
    names = tail.partition("}")[0].split(",")
    return [head.strip() + name.strip() for name in names if name.strip()]
