from typing import final

@final
class TermSet:
    def __new__(cls) -> TermSet: ...
