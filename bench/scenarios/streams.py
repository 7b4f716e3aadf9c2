"""Streams of a model endpoint: latency to stdout, many at once, and CPU against the openai SDK.

    python bench/scenarios/streams.py [--streams 50] [--rate 200] [--deltas 400]

One run, one machine, one endpoint (`tests/providers/flood.py`, a process of its own). Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.providers.measure import cpu_per_delta, delivery


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--deltas", type=int, default=400)
    arguments = parser.parse_args()
    started = time.monotonic()
    report: dict[str, Any] = {
        "one": delivery(1, arguments.deltas, arguments.rate),
        "many": delivery(arguments.streams, arguments.deltas, arguments.rate),
        "cpuPerDeltaUs": cpu_per_delta(20_000),
    }
    report["seconds"] = round(time.monotonic() - started, 1)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
