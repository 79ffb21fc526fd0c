"""The command group: global options, and commands that are imported only when they are called."""

from __future__ import annotations

import atexit
import gc
import importlib
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from patchctl import __version__
from patchctl.cli import streams
from patchctl.cli.output import App, Result, common_options, from_os, report, report_usage, stopped, was_stopped
from patchctl.errors import EnvironmentFailed, PatchctlError
from patchctl.target import signals

# name -> (module that holds a click command called ``command``, the line that --help shows)
COMMANDS = {
    "init": ("patchctl.cli.init", "Start a new patch repository."),
    "fetch": ("patchctl.cli.fetch", "Fill the cache with pristine releases."),
    "lock": ("patchctl.cli.lock", "Recompute series.lock from the pristine tree."),
    "apply": ("patchctl.cli.apply", "Apply the series, and prove the result."),
    "unapply": ("patchctl.cli.unapply", "Take the series out again, byte for byte."),
    "status": ("patchctl.cli.status", "Say which patches are live in a place."),
    "list": ("patchctl.cli.list", "List the patches of a target."),
    "show": ("patchctl.cli.show", "Show a patch and what is known of it."),
    "port": ("patchctl.cli.port", "Carry patch files over to another tree."),
    "report": ("patchctl.cli.report", "Tell what became of every patch in an upgrade."),
    "rebase": ("patchctl.cli.rebase", "Move the series to another release."),
    "lint": ("patchctl.cli.lint", "Check the series and its patch files."),
    "contract": ("patchctl.cli.contract", "Check what code silently expects of a class."),
    "doctor": ("patchctl.cli.doctor", "Check that this machine can do the work."),
    "schema": ("patchctl.cli.schema", "Print the JSON schema of series.yaml."),
    "completion": ("patchctl.cli.completion", "Print a completion script for a shell."),
}


class LazyGroup(click.Group):
    """Lists the commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "directory", metavar="DIR", type=click.Path(), help="Run as if started in DIR.")
@click.version_option(__version__, prog_name="patchctl", message="%(prog)s %(version)s")
@common_options
@click.pass_context
def group(ctx: click.Context, /, directory: str | None, **common: Any) -> None:
    """Carries a series of patches on top of a pinned upstream, and proves what it did.

    patchctl works on the nearest folder at or above the current one that holds series.yaml.
    """
    ctx.obj = App.from_options(directory, common)


def run(argv: list[str] | None = None) -> NoReturn:
    """Run the command line ``argv`` (default: the process's) and exit with its code."""
    args = sys.argv[1:] if argv is None else argv
    streams.prepare()
    signal.signal(signal.SIGTERM, _stopped)
    # Whom nohup or a shell's & has told to ignore it, goes on to ignore it.
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_DFL):
        signal.signal(signal.SIGINT, _stopped)
    # A command lives for a moment and makes values without cycles: looking for some takes a tenth of its time.
    gc.disable()
    try:
        _check_filled(args)
        code = group.main(args, prog_name="patchctl", standalone_mode=False)
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        code = report_usage(error, args)
    except PatchctlError as error:
        code = report(Result({}, problems=error.problems, exit_code=error.exit_code), args)
    except (click.Abort, KeyboardInterrupt):
        code = report(stopped(130), args)
    except RuntimeError as error:
        if not was_stopped(error):
            raise
        code = report(stopped(130), args)
    except OSError as error:  # only the help is printed out there
        streams.silence(sys.stdout)
        code = report(from_os(error), args)
    unsaid = streams.flushed()
    # A signal while the interpreter ends must not give what was done, and told, another code.
    atexit.register(_deafen)
    sys.exit(code or (EnvironmentFailed.exit_code if unsaid else 0))


def _check_filled(args: Sequence[str]) -> None:
    """Raise UsageError for an empty argument.

    It is a variable that a script forgot to set: that must not mean another place, and least of all none.
    """
    for before, arg in zip(("", *args), args, strict=False):
        option, equals, value = arg.partition("=") if arg.startswith("--") else (before, "=", arg)
        if equals and not value.strip():
            said = f"'{option}' was given nothing" if option.startswith("-") else "An argument is empty"
            raise click.UsageError(f"{said}; is a variable not set?")


def _deafen() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _stopped(number: int, frame: FrameType | None) -> None:
    # What was done stays done, and must not be reported as taken back.
    if signals.is_complete():
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    # An exception, so that a transaction under way takes itself back before the process ends.
    raise SystemExit(128 + number)
