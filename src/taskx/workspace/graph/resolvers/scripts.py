"""Languages whose imports name a file by a path or a load name: Ruby, Lua, Bash, Zig, PHP paths."""

from __future__ import annotations

from taskx.workspace.graph.resolvers.base import (
    INCLUDE,
    PACKAGE,
    ImportRow,
    Link,
    PathIndex,
    ancestors,
    join,
    nearest,
    parent,
)


class LoadPathResolver:
    """`require` by load path: a written name is a path below some folder of the tree.

    suffixes: what may follow the written name, best first.
    separator: what stands for `/` in names ("." in Lua, "" for none).
    roots: folders that are load roots wherever they are ("lib" in Ruby, "lua" in Neovim plugins).
    """

    def __init__(
        self,
        files: PathIndex,
        suffixes: tuple[str, ...],
        separator: str = "",
        roots: tuple[str, ...] = (),
        binds: bool = False,
    ) -> None:
        self.files = files
        self.suffixes = suffixes
        self.separator = separator
        self.roots = roots
        self.binds = binds
        self._memo: dict[tuple[str, str, bool], int | None] = {}

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        if row.kind == PACKAGE or not row.module:
            return []
        key = (parent(source), row.module, row.kind == INCLUDE)
        if key not in self._memo:
            self._memo[key] = self._lookup(*key)
        target = self._memo[key]
        if target is None:
            return []
        if self.binds or row.alias:
            return [Link((target,), row.name, row.alias)]
        return [Link((target,), "*")]

    def _lookup(self, folder: str, spec: str, relative: bool) -> int | None:
        if relative or spec.startswith(("./", "../")):
            return self._at(join(folder, spec))
        written = spec.replace(self.separator, "/") if self.separator else spec
        for above in ancestors(folder):
            for root in ("", *self.roots):
                place = "/".join(filter(None, [above, root, written]))
                found = self._at(join("", place))
                if found is not None:
                    return found
        return self._anywhere(folder, written)

    def _at(self, place: str | None) -> int | None:
        if not place:
            return None
        return self.files.first(place + suffix for suffix in self.suffixes)

    def _anywhere(self, folder: str, written: str) -> int | None:
        """The one file below a load root elsewhere in the tree."""
        found = []
        for suffix in self.suffixes:
            full = written + suffix
            for path in self.files.named(full.rpartition("/")[2]):
                head = path[: -len(full) - 1] if path.endswith("/" + full) else None
                if head is not None and head.rpartition("/")[2] in self.roots:
                    found.append(path)
            if found:
                break
        best = nearest(f"{folder}/x", found)
        return self.files.get(best) if best is not None else None
