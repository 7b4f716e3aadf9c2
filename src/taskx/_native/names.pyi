from taskx.workspace.index.segment import Segment

def shortlist(segment: Segment, query: bytes, limit: int) -> list[tuple[int, int, int]]:
    """Symbol rows whose names may be meant, one per distinct name, as (row, class, figure).

    class 0: the very name; 1: but for case and underscores; 2: begins so; 3: the query's parts
    begin the name's parts in order (subwords, initials); 4: holds it; 5: shares most of its
    letter triples (a typo). figure orders within a class, lower is better. The best `limit` of
    each class.
    """
