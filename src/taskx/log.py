"""Diagnostics on stderr, for people. The format is no contract.

Levels are `error`, `warn`, `info`, `debug`, `trace`. Prompts, output, file contents and keys are
never logged, at any level. A reader of stderr that stalls delays nobody: lines wait in a bounded
queue behind a thread, and lines that do not fit are counted and dropped.
"""

import logging
import os
import queue
import threading

TRACE = 5
LEVELS = {
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": TRACE,
}

_QUEUE_LINES = 10_000


class StderrHandler(logging.Handler):
    """Writes records to descriptor 2 from a thread that starts with the first record."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[bytes] = queue.Queue(_QUEUE_LINES)
        self._thread: threading.Thread | None = None
        self._n_dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stderr", daemon=True)
            self._thread.start()
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._n_dropped += 1

    def close(self) -> None:
        """Gives lines that wait half a second to go out."""
        if self._thread is not None:
            done = threading.Event()
            threading.Thread(target=self._join, args=(done,), daemon=True).start()
            done.wait(0.5)
        super().close()

    def _join(self, done: threading.Event) -> None:
        self._lines.join()
        done.set()

    def _run(self) -> None:
        while True:
            line = self._lines.get()
            if self._n_dropped:
                line = b"(%d lines dropped)\n" % self._n_dropped + line
                self._n_dropped = 0
            try:
                while line:
                    line = line[os.write(2, line) :]
            except OSError:
                pass  # nobody reads stderr: nothing to tell, and nobody to tell it to
            self._lines.task_done()


def configure(level: str) -> StderrHandler:
    """Sets the level of this package's loggers; libraries stay at `error`. Call once."""
    logging.addLevelName(TRACE, "TRACE")
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.ERROR)
    logging.getLogger("taskx").setLevel(LEVELS[level])
    logging.captureWarnings(True)
    return handler
