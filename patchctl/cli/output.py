"""How every command speaks: one result, printed as text or as one JSON document, and one exit code."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import click

from patchctl.cli import streams
from patchctl.cli.console import Printer
from patchctl.errors import EnvironmentFailed, PatchctlError, Problem, Refused

P = ParamSpec("P")

Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command has to say.

    ``payload`` is the JSON document without its envelope; ``text`` prints the same for people;
    ``problems`` are what a check found, or warnings if ``exit_code`` is 0.
    """

    payload: Mapping[str, Any]
    text: Callable[[Printer], None] = field(default=lambda printer: None)
    problems: tuple[Problem, ...] = ()
    exit_code: int = 0


@dataclass(slots=True)
class App:
    """The global options, shared by the group and the command (each may carry them)."""

    cwd: Path
    directory: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"

    @classmethod
    def from_options(cls, directory: str | None, options: Mapping[str, Any]) -> App:
        app = cls(Path(), directory)
        app.merge(options)
        try:
            # Nobody needs to stand anywhere to name a folder from the root.
            app.cwd = Path(directory or "") if Path(directory or "").is_absolute() else Path.cwd() / (directory or "")
        except FileNotFoundError:
            why = "The current folder does not exist any more."
            raise EnvironmentFailed(Problem("no-folder", why, next="cd elsewhere, or patchctl -C DIR")) from None
        # A project above a folder that is not there would not be the one that was meant.
        if directory and not os.path.isdir(app.cwd):  # noqa: PTH112 - says no where Path would raise
            raise EnvironmentFailed(Problem("no-folder", f"There is no folder {app.cwd}.", next="patchctl -C DIR"))
        return app

    def merge(self, options: Mapping[str, Any]) -> None:
        """Take over what was said after the command."""
        self.json = self.json or bool(options["as_json"])
        self.quiet = self.quiet or bool(options["quiet"])
        self.verbose = self.verbose or bool(options["verbose"])
        self.color = options["color"] or self.color

    def path(self, name: str | os.PathLike[str]) -> Path:
        """``name`` as meant by somebody who stands in ``-C DIR``."""
        # Not resolve(): whether a link may be followed is for the place to say.
        return Path(os.path.abspath(self.cwd / Path(name)))  # noqa: PTH100

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """A progress callable for long work: a bar on a terminal, else None."""
        wanted = sys.stderr.isatty() and not self.quiet and "CI" not in os.environ
        if not wanted:
            yield None
            return
        from patchctl.cli.progress import bar

        with bar(self.color) as show:
            yield show


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that may stand before or after the command."""
    for option in reversed(
        (
            click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout."),
            click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
            click.option("-v", "--verbose", is_flag=True, help="Print more."),
            click.option("--color", type=click.Choice(["auto", "always", "never"]), help="When to use colour."),
        )
    ):
        function = option(function)
    return function


def reports(name: str) -> Callable[[Callable[Concatenate[App, P], Result]], Callable[..., int]]:
    """Make a function from options to a Result into the body of command ``name``.

    The function gets the App first. Faults become the error document and the exit code here, and only here.
    """

    def wrap(function: Callable[Concatenate[App, P], Result]) -> Callable[..., int]:
        @common_options
        @click.pass_obj
        @functools.wraps(function)
        def body(app: App, /, *args: Any, as_json: bool, quiet: bool, verbose: bool, color: str, **options: Any) -> int:
            app.merge({"as_json": as_json, "quiet": quiet, "verbose": verbose, "color": color})
            try:
                result = function(app, *args, **options)
            except PatchctlError as error:
                result = Result(getattr(error, "payload", {}), problems=error.problems, exit_code=error.exit_code)
            except KeyboardInterrupt:
                result = stopped(130)
            except SystemExit as stop:
                result = stopped(int(stop.code or 0))
            except OSError as error:
                result = from_os(error)
            except Exception as error:
                result = stopped(130) if was_stopped(error) else _own_fault(error, verbose=app.verbose)
            problems = tuple(_from_here(problem, app, options) for problem in result.problems)
            return emit(app, name, replace(result, problems=problems))

        return body

    return wrap


def emit(app: App, name: str, result: Result) -> int:
    """Print ``result`` and return its exit code."""
    printer = Printer(app.color, quiet=app.quiet)
    try:
        if app.json:
            sys.stdout.write(document(name, result) + "\n")
        elif not app.quiet:
            result.text(printer)
        sys.stdout.flush()
    except BrokenPipeError:
        streams.silence(sys.stdout)  # the reader went away; what was done stays done
    except OSError as error:
        streams.silence(sys.stdout)
        unsaid = Problem("os", f"Standard output can't be written to: {error.strerror or error}.")
        graver = max(result.exit_code, EnvironmentFailed.exit_code)
        result = replace(result, problems=(*result.problems, unsaid), exit_code=graver)
    try:
        _say(printer, app, result)
        sys.stderr.flush()
    except OSError:
        streams.silence(sys.stderr)  # nobody is left to tell
    return result.exit_code


def document(name: str, result: Result) -> str:
    """The JSON document of ``result``."""
    import json

    failed = result.exit_code != 0
    envelope = {
        "schema": f"patchctl.{name}/1",
        "ok": not failed,
        **result.payload,
        "error": asdict(result.problems[0]) if failed and result.problems else None,
        "problems": [asdict(problem) for problem in result.problems] if failed else [],
        "warnings": [] if failed else [asdict(problem) for problem in result.problems],
    }
    return json.dumps(envelope, indent=2)


def report_usage(error: click.ClickException, args: list[str]) -> int:
    """Print a wrong usage the way click does, or as a document where JSON was asked for."""
    if "--json" not in args:
        with suppress(OSError):
            error.show()
        return 2
    context = getattr(error, "ctx", None)
    name = context.info_name if context is not None and context.parent is not None else _command(args)
    step = "patchctl --help" if name == "patchctl" else f"patchctl {name} --help"
    problem = Problem("usage", error.format_message(), next=step)
    return report(Result({}, problems=(problem,), exit_code=2), args, str(name))


def report(result: Result, args: list[str], name: str | None = None) -> int:
    """Print a ``result`` that came before any command could run, and return its exit code."""
    return emit(App(Path(), json="--json" in args), name or _command(args), result)


def stopped(code: int) -> Result:
    """What to say when somebody stopped the run; ``code`` is 128 and the signal's number."""
    interrupted = Problem("interrupted", "Interrupted; everything is as it was before.")
    return Result({}, problems=(interrupted,), exit_code=code)


def was_stopped(error: Exception) -> bool:
    """Whether a signal is behind ``error``: Python wraps what happens while it makes a class of a module it reads."""
    return isinstance(error.__cause__, KeyboardInterrupt)


def _own_fault(error: Exception, *, verbose: bool) -> Result:
    """What nobody thought of. It must not pass for what a check found, which is what Python's own status would say."""
    if isinstance(error, MemoryError):
        problem = Problem("memory", "There is not enough memory for this.")
        return Result({}, problems=(problem,), exit_code=EnvironmentFailed.exit_code)
    if isinstance(error, RecursionError):
        problem = Problem("too-deep", "The input is nested too deeply to be read.")
        return Result({}, problems=(problem,), exit_code=Refused.exit_code)
    if verbose:
        import traceback

        traceback.print_exc()
    why = f"patchctl has a fault of its own here ({type(error).__name__}: {error})."
    problem = Problem("internal", why, next="run it again with -v, and report what it says")
    return Result({}, problems=(problem,), exit_code=EnvironmentFailed.exit_code)


def _command(args: list[str]) -> str:
    """The command that ``args`` call, as far as it can be told without parsing them."""
    from patchctl.cli.main import COMMANDS

    return next((arg for arg in args if arg in COMMANDS), "patchctl")


# The commands that act on a place, and mean another one when it is not named.
_PLACED = ("apply", "unapply", "status")


def _from_here(problem: Problem, app: App, options: Mapping[str, Any]) -> Problem:
    """``problem`` with a next step that means the project and the place that the command was called for."""
    words = (problem.next or "").split(" ")
    if words[0] != "patchctl" or len(words) < 2:
        return problem
    if words[1] in _PLACED and "--into" not in words and "--installed" not in words:
        for option in ("into", "python"):
            if options.get(option):
                words += [f"--{option}", shlex.quote(options[option])]
        words += ["--installed"] if options.get("installed") else []
    if app.directory and words[1] != "-C":
        words[1:1] = ["-C", shlex.quote(app.directory)]
    return replace(problem, next=" ".join(words))


def _say(printer: Printer, app: App, result: Result) -> None:
    word = "error" if result.exit_code else "warning"
    if app.quiet and not result.exit_code:
        return
    for problem in result.problems:
        printer.problem(word, problem)


def from_os(error: OSError) -> Result:
    """What to say of a fault of the system that no place and no source has explained."""
    fault = EnvironmentFailed(Problem("os", f"{error.strerror or error}.", file=_name(error.filename)))
    return Result({}, problems=fault.problems, exit_code=fault.exit_code)


def _name(name: object) -> str | None:
    return os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else None
