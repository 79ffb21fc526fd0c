"""The documentation, held against the code: links, commands, exit codes, lint rules, names of JSON schemas."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from patchctl import errors
from patchctl.cli.main import COMMANDS, group
from patchctl.series import lock, receipt
from patchctl.target import journal
from patchctl.workflows.lint import RULES
from patchctl.workflows.rebase import resolver

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
CODE = "\n".join(path.read_text() for path in sorted((ROOT / "patchctl").rglob("*.py")))

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


# Links


@pages
def test_relative_links_lead_somewhere(page: Path) -> None:
    text = _without_blocks(page.read_text())
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert not broken


def test_the_map_names_every_page() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"} <= set(
        re.findall(r"\]\(([a-z-]+\.md)\)", page("index.md"))
    )


def test_safety_names_tests_that_are_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", page("safety.md"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def _without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def _anchors(file: Path) -> set[str]:
    """The anchors that a forge makes of a page's headings."""
    heads = re.findall(r"^#+ (.*)$", _without_blocks(file.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).lower().strip().replace(" ", "-") for head in heads}


# Commands


@pages
def test_commands_parse(page: Path) -> None:
    wrong = {line: why for line in _commands(page.read_text()) if line not in COMMANDS and (why := _unparsable(line))}
    assert not wrong


def test_every_command_is_documented() -> None:
    told = "\n".join(path.read_text() for path in PAGES)
    assert [name for name in COMMANDS if f"patchctl {name}" not in told] == []


@pytest.mark.parametrize(
    "line", ["aply", "apply --nowhere", "show", "lock --check --into x", "completion csh", "--jsn list"]
)
def test_a_wrong_command_is_noticed(line: str) -> None:
    assert _unparsable(line)


def _commands(text: str) -> Iterator[str]:
    """What follows ``patchctl`` in code spans, and in blocks wherever a command line begins with it.

    A command's bare name in a span is its name, not a line to run.
    """
    spans = re.findall(r"(?<!`)`(?:\$ )?patchctl ([^`]+)`(?!`)", _without_blocks(text))
    for block in re.findall(r"^```(?:sh|console|dockerfile)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        spans += re.findall(r"(?:^|[\s/;&])(?:\$ )?(?<!COPY )(?:\S*/bin/)?patchctl ((?:[a-z-]|-[Cqv]).*)$", block, re.M)
    for span in spans:
        if "COMMAND" not in span and not span.startswith(("/", "--json`")):
            yield " ".join(span.split())


def _unparsable(line: str) -> str | None:
    """Why click does not take ``line``; None if it does. Nothing is run."""
    words = shlex.split(re.sub(r"\s(?:#|&&|\|).*$", "", line))
    try:
        top = group.make_context("patchctl", words.copy())
        rest = [*getattr(top, "_protected_args", ()), *top.args]
        if rest:
            name, command, args = group.resolve_command(top, rest)
            assert command is not None
            command.make_context(name, args, parent=top)
    except click.exceptions.Exit:
        return None
    except click.ClickException as error:
        return error.format_message()
    return None


# Tables that say what the code says


def test_exit_codes() -> None:
    table = dict(re.findall(r"^\| (\d+) \| [^|]+ \| (\w+) \|$", page("exit-codes.md"), re.MULTILINE))
    classes = {str(kind.exit_code): kind.__name__ for kind in errors.SEVERITY}
    assert table == classes
    assert re.findall(r"^\| (\d+) \|.*\| \|$", page("exit-codes.md"), re.MULTILINE) == ["0", "130"]


def test_exit_codes_that_pages_speak_of() -> None:
    known = {kind.exit_code for kind in errors.SEVERITY} | {0, 130, 143}
    told = {int(code) for path in PAGES for code in re.findall(r"\bexit(?:s| code)? (\d+)\b", path.read_text())}
    assert told <= known


def test_lint_rules() -> None:
    table = re.findall(r"^\| `([a-z-]+)` \| (.*) \| (yes|no) \|$", page("lint.md"), re.MULTILINE)
    assert table == [(rule.id, rule.about, "no" if rule.firm else "yes") for rule in RULES]


def test_names_of_schemas() -> None:
    written = {lock.SCHEMA, receipt.SCHEMA, journal.SCHEMA, resolver.SCHEMA}
    documents = {f"patchctl.{name}/1" for name in (*COMMANDS, "patchctl")}
    table = re.findall(r"^\| `(patchctl\.\w+/\d+)` \|", page("exit-codes.md"), re.MULTILINE)
    assert set(table) == documents
    told = {name for path in PAGES for name in re.findall(r"patchctl\.\w+/\d+", path.read_text())}
    assert told == documents | written


def test_kinds_of_problems_exist() -> None:
    rows = re.findall(
        r"^\| (?:\d[^|]*|warnings) \| ((?:[^|]*`[a-z-]+`[^|]*)+) \|$", page("exit-codes.md"), re.MULTILINE
    )
    refused = page("patch-files.md").partition("## What it refuses")[2]
    kinds = [kind for row in rows for kind in re.findall(r"`([a-z-]+)`", row) if kind != "port"]
    kinds += [
        kind
        for row in re.findall(r"^\| (`[^|]*) \|", refused, re.MULTILINE)
        for kind in re.findall(r"`([a-z-]+)`", row)
    ]
    assert len(kinds) > 80
    assert [kind for kind in kinds if f'"{kind}"' not in CODE] == []


# README's promises


@pytest.mark.parametrize("name", ["apply", "test"])
def test_readme_marks_its_commands(name: str) -> None:
    said = subprocess.run([ROOT / "ci/readme-command", name], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("\n") == 1
    if name == "apply":
        assert said.stdout.rstrip().endswith("patchctl apply --target v0.5.9")
    else:
        assert (ROOT / said.stdout.split()[0]).is_file()
