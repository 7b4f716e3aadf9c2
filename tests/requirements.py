"""The rows of the protocol's checklist and the test that each has at least.

`tests/architecture/test_requirements.py` keeps it whole: every test named here exists, every test
whose name carries a row's id belongs to a known row, and every row has a test.
"""

from __future__ import annotations

# Row -> what it promises, in short.
ROWS: dict[str, str] = {
    "P01": "one JSON object a line, UTF-8; CRLF is taken, LF is sent",
    "P02": "stdout carries the protocol only",
    "P03": "TASK_X_LOG sets the level; a bad value is reported and `warn` used",
    "P04": "no prompt, output, file content or key is logged",
    "P05": "a message of 32 MiB is accepted, a longer line ends the session",
    "P06": "no message over 32 MiB is sent",
    "P07": 'ids are strings or integers, and `1` is not `"1"`',
    "P08": "what is not JSON or not UTF-8 is a parse error; the session goes on",
    "P09": "what is not a valid request is refused",
    "P10": "unknown methods are refused, unknown notifications ignored",
    "P11": "wrong params name the field and what was expected",
    "P12": "`initialize` comes first, and once",
    "P13": "`initialize` says who serves, and refuses other versions",
    "P14": "`initialize` takes `dataDir` and `sandbox`",
    "P15": "`initialize` marks interrupted tasks as failed",
    "P16": "a request can be cancelled and has exactly one reply",
    "P17": "`shutdown`, `exit` and the end of stdin end the process in order",
    "P18": "a slow request delays no other",
    "P19": "a client that does not read, or is gone, does no harm",
    "P20": "no child process outlives the runtime",
    "P21": "ids of the runtime's own requests are safe, odd replies ignored",
    "W01": "`workspace/open`",
    "W02": "`workspace/progress`",
    "W03": "`workspace/refresh` parses only what changed",
    "W04": "`workspace/filesChanged`",
    "W05": "`context/inspect`",
    "W06": "`context/retrieve`",
    "W07": "`graph/project`",
    "W08": "import edges",
    "W09": "reference edges",
    "W10": "graph levels, focus and cut",
    "W11": "graph statistics",
    "W12": "`graph/file`",
    "W13": "ignored and excluded files stay out",
    "W14": "instruction files",
    "X01": "exit 0: a clean end, recorded",
    "X02": "exit 1: an unhandled error, with its reason and no end record",
    "X03": "exit 2: wrong arguments",
    "X04": "exit 3: configuration cannot be used",
    "X05": "exit 4: the session is in use",
    "X06": "exit 5: switched off, before configuration is read",
    "X07": "after a crash the next load closes what was open",
    "X08": "without a data dir nothing is written",
    "X09": "stderr explains why a start failed",
}
