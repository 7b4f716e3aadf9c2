from typing import Any

class Postings:
    def __init__(self, room: int = 256) -> None: ...

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
