from typing import Any, final

@final
class Postings:
    def __new__(cls, room: int = 256) -> Postings: ...

def doc_freq(hashes: Any, offs: Any, posts: Any, term: int) -> int: ...
def postings(hashes: Any, offs: Any, posts: Any, term: int) -> list[tuple[int, int]]: ...
def accumulate(
    scores: Any,
    hashes: Any,
    offs: Any,
    posts: Any,
    lengths: Any,
    term: int,
    weight: float,
    mean_length: float,
) -> None: ...
def top(scores: Any, live: Any, limit: int) -> list[tuple[int, float]]: ...
