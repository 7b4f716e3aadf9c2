from typing import final

from typing_extensions import Buffer

def diff(
    old_paths: Buffer,
    old_off: Buffer,
    old_size: Buffer,
    old_mtime_ns: Buffer,
    new_paths: Buffer,
    new_off: Buffer,
    new_size: Buffer,
    new_mtime_ns: Buffer,
    racy_ns: int,
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes]: ...

@final
class LanguageTable:
    def __new__(
        cls,
        extensions: dict[bytes, int],
        names: dict[bytes, int],
        fronts: dict[bytes, int],
        c_id: int,
        cpp_id: int,
    ) -> LanguageTable: ...
    def detect(self, paths: Buffer, off: Buffer, flags: Buffer) -> bytes: ...
    def find(self, paths: Buffer, off: Buffer) -> bytes: ...
