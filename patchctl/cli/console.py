"""What people read: lines and tables on a terminal or in a log, without surprises from odd names."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from patchctl.errors import Problem

if TYPE_CHECKING:
    from rich.console import Console

# A log has no width: a table cut at 80 columns loses the end of every path.
_LOG_WIDTH = 200


def clean(text: str) -> str:
    """``text`` with control, format and undecodable characters written as escapes: a name can't fake output."""
    return "".join(
        character if character == " " or unicodedata.category(character)[0] not in "CZ" else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Printer:
    """Prints to stdout, and problems to stderr. rich is imported with the first table or colour."""

    def __init__(self, color: str = "auto", *, quiet: bool = False) -> None:
        self._color = color
        self.quiet = quiet

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line on stdout; ``style`` is a rich style, used where colour is wanted."""
        self._print(sys.stdout, text, style)

    def raw(self, data: bytes) -> None:
        """Bytes on stdout, as they are."""
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str | tuple[str, str]]], title: str = "") -> None:
        """A table on stdout; a cell is text, or text with a rich style."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(*columns, box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
        for row in rows:
            cells = [cell if isinstance(cell, tuple) else (cell, "") for cell in row]
            table.add_row(*(Text(clean_lines(text), style) for text, style in cells))
        console = self._console(sys.stdout)
        with console.capture() as captured:
            console.print(table)
        # rich fills every line up to the table's width, and frames it with empty ones.
        lines = [line.rstrip() for line in captured.get().split("\n")]
        sys.stdout.write("".join(f"{line}\n" for line in lines if line))

    def problem(self, word: str, problem: Problem) -> None:
        """A problem on stderr: what, where, and what to do next."""
        where = [
            f"{label} {value}"
            for label, value in (("patch", problem.patch), ("file", problem.file), ("hunk", problem.hunk))
            if value is not None
        ]
        style = "bold red" if word == "error" else "yellow"
        self._print(sys.stderr, f"{word}: {problem.message}", style)
        if where:
            self._print(sys.stderr, f"  in {', '.join(where)}", None)
        if problem.next:
            self._print(sys.stderr, f"  next: {problem.next}", None)

    def _print(self, stream: TextIO, text: str, style: str | None) -> None:
        # A name may hold line ends: what follows one is set off, so that it can't pass for a line of our own.
        text = re.sub(r"\n(?=\S|$)", "\n    ", clean_lines(text))
        if style and self._colored(stream):
            from rich.text import Text

            self._console(stream).print(Text(text, style), soft_wrap=True)
        else:
            stream.write(text + "\n")

    def _colored(self, stream: TextIO) -> bool:
        if self._color != "auto":
            return self._color == "always"
        return stream.isatty() and not os.environ.get("NO_COLOR")

    def _console(self, stream: TextIO) -> Console:
        from rich.console import Console

        options: dict[str, Any] = {} if stream.isatty() else {"width": _LOG_WIDTH}
        colored = self._colored(stream)
        return Console(
            file=stream, force_terminal=colored or None, no_color=not colored, markup=False, highlight=False, **options
        )


def clean_lines(text: str) -> str:
    """:func:`clean`, keeping line ends and tabs."""
    return "\n".join("\t".join(clean(part) for part in line.split("\t")) for line in text.split("\n"))
