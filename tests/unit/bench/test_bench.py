"""The parts of `taskx bench` that judge: percentiles, regressions, queries, the page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskx.bench import compare, html
from taskx.bench.corpus import CorpusMissing, corpus, describe
from taskx.bench.figures import Figure, PeerRun, Report, percentile, spread
from taskx.bench.queries import make_queries


def report(*figures: Figure) -> Report:
    return Report(
        machine={"cpu": "c", "cpus": 2, "system": "Linux"},
        commit="abc",
        taskx="0.1.0",
        started="2026-01-01T00:00:00+00:00",
        corpus={"name": "<tree>", "files": 1, "bytes": 10, "hash": "00"},
        figures=list(figures),
        peers=[
            PeerRun(
                peer="ctags",
                suite="open-cold",
                command="ctags -R",
                wall_s=[0.5],
                cpu_s=[0.4],
                peak_rss_bytes=1,
                ratio=2.0,
            )
        ],
    )


def figure(name: str, *runs: float, unit: str = "ms", better: str = "lower") -> Figure:
    return Figure(suite="open-cold", name=name, unit=unit, runs=list(runs), better=better)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([3.0], 99, 3.0), ([1.0, 2.0], 50, 1.5), ([4.0, 1.0, 2.0, 3.0], 100, 4.0)],
)
def test_percentiles_interpolate(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == expected


def test_a_spread_names_its_percentiles() -> None:
    rows = spread("retrieve", "query", "ms", [1.0, 2.0, 3.0])
    assert (rows[0].name, rows[0].value) == ("query p50", 2.0)
    assert rows[-1].value == 3.0


REGRESSIONS: list[tuple[Figure, Figure, list[str]]] = [
    (figure("wall", 110), figure("wall", 100), []),
    (figure("wall", 120), figure("wall", 100), ["wall"]),
    (
        figure("rate", 80, unit="MB/s", better="higher"),
        figure("rate", 100, unit="MB/s", better="higher"),
        ["rate"],
    ),
    (figure("symbols", 90, better="same"), figure("symbols", 100, better="same"), []),
    (figure("new", 500), figure("wall", 100), []),
    (figure("wall", 500), figure("wall", 0), []),
]


@pytest.mark.parametrize(("now", "before", "worse"), REGRESSIONS)
def test_B01_a_regression_names_its_figure(now: Figure, before: Figure, worse: list[str]) -> None:
    lines = compare.regressions(report(now), report(before), 1.15)
    assert [line.split(":")[0].removeprefix("open-cold ") for line in lines] == worse


def test_B01_a_report_survives_its_file(tmp_path: Path) -> None:
    saved = tmp_path / "base.json"
    saved.write_bytes(msgspec.json.encode(report(figure("wall", 1.0, 2.0))))
    assert compare.load(saved) == report(figure("wall", 1.0, 2.0))


@pytest.mark.parametrize("content", [None, b"{}", b"not json"])
def test_B01_an_unusable_baseline_is_named(tmp_path: Path, content: bytes | None) -> None:
    saved = tmp_path / "base.json"
    if content is not None:
        saved.write_bytes(content)
    with pytest.raises(compare.BaselineUnusable, match=r"base\.json"):
        compare.load(saved)


def test_queries_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"module_{number}_reader.py").write_text(
            f'"""Reads the frames of stream number {number} in order."""\n\n\n'
            f"def read_frames_{number}(stream):\n    return stream\n"
        )
    first = make_queries(tmp_path, 12, seed=3)
    assert first == make_queries(tmp_path, 12, seed=3)
    assert first != make_queries(tmp_path, 12, seed=4)
    assert any(query.startswith("read_frames_") for query in first)
    assert any(query.startswith("Reads the frames") for query in first)


def test_an_unknown_corpus_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(CorpusMissing, match="linux-parts, go, rust, django"):
        corpus("no-such-corpus", tmp_path)


def test_a_corpus_hash_follows_names_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    before: dict[str, Any] = describe(tmp_path)
    assert (before["files"], before["bytes"]) == (1, 2)
    (tmp_path / "a").write_bytes(b"123")
    assert describe(tmp_path)["hash"] != before["hash"]


def test_the_page_is_self_contained_and_escapes_names() -> None:
    page = html.page(report(figure("wall", 1500.0), figure("rss", 5e6, unit="bytes")))
    assert "&lt;tree&gt;" in page
    assert "ctags (ours / theirs 2.00)" in page
    loaded: list[str] = []

    class Loads(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            loaded.extend(value or "" for name, value in attrs if name in ("src", "href"))

    Loads().feed(page)
    assert loaded == []
