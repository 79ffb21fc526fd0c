"""list, show and schema."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from patchctl.errors import InvalidInput
from patchctl.series import model
from patchctl.series import project as projects
from patchctl.series.schema import DESCRIPTIONS, series_schema
from patchctl.workflows import listing
from tests.lintproject import FILE, SERIES, make, patch_text

TODAY = datetime.date(2026, 12, 1)


def run(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "patchctl", "-C", str(root), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_patches_in_order(tmp_path: Path) -> None:
    series = SERIES.replace("[fix-a]", "[fix-b, fix-a]") + SERIES.split("patches:\n")[1].replace("fix-a", "fix-b")
    root = make(tmp_path / "p", series, {"fix-a": patch_text()})
    (root / "patches/v1.0/other.patch").write_text("")
    found = listing.listing(projects.load(root), None, TODAY)
    assert [(patch.order, patch.id, patch.files, patch.locked) for patch in found.patches] == [
        (1, "fix-b", (), False),
        (2, "fix-a", (FILE,), True),
    ]
    assert "fix-b.patch does not exist" in found.patches[0].note
    assert found.unlisted == ("patches/v1.0/other.patch",)


def test_without_a_lock_the_files_come_from_the_patch(tmp_path: Path) -> None:
    found = listing.listing(projects.load(make(tmp_path / "p", locked=False)), "1.0", TODAY)
    assert [(patch.files, patch.locked) for patch in found.patches] == [((FILE,), False)]


def test_the_documents(tmp_path: Path) -> None:
    root = make(tmp_path / "p")
    document = json.loads(run(root, "list", "--json").stdout)
    assert (document["schema"], document["target"]) == ("patchctl.list/1", "v1.0")
    (patch,) = document["patches"]
    assert (patch["id"], patch["owner"], patch["upstream"]["status"]) == ("fix-a", "team", "submitted")
    assert (patch["expires"], patch["expired"], patch["files"]) == ("2030-01-01", False, [FILE])
    shown = json.loads(run(root, "show", "fix-a", "--json").stdout)
    assert (shown["schema"], shown["patch"]) == ("patchctl.show/1", patch_text().decode())
    assert shown["footprint"][0]["path"] == FILE


def test_the_text(tmp_path: Path) -> None:
    root = make(tmp_path / "p", patches={"fix-a": patch_text(why="An \x1b[31mescape.")})
    shown = run(root, "list").stdout
    assert "fix-a" in shown and "Count in digits" in shown and "team" in shown
    text = run(root, "show", "fix-a").stdout
    assert "words are slow" in text and "+2\n" in text
    assert "\x1b" not in text and "\\x1b[31mescape." in text


def test_unknown_patches(tmp_path: Path) -> None:
    root = make(tmp_path / "p", SERIES.replace("[fix-a]", "[fix-a]\n    dropped: {old-fix: {reason: upstreamed}}"))
    for name, word in (("fix-b", "Did you mean 'fix-a'"), ("old-fix", "not carried on v1.0: upstreamed")):
        with pytest.raises(InvalidInput, match=word):
            listing.show(projects.load(root), name, None, TODAY)
    assert run(root, "show", "fix-b").returncode == 2


def test_every_key_of_the_schema_has_a_description() -> None:
    schema = series_schema()
    keys = {f"{name}.{key}" for name, entry in schema["$defs"].items() for key in entry.get("properties", {})}
    assert keys == set(DESCRIPTIONS)
    assert schema["$ref"] == "#/$defs/Series"
    assert schema["$defs"]["PatchInfo"]["additionalProperties"] is False
    assert set(schema["$defs"]["PatchInfo"]["required"]) == {"title", "why", "owner", "upstream"}
    assert msgspec.json.schema(model.Series)["$defs"].keys() == schema["$defs"].keys()


def test_the_schema_command(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, "schema").stdout) == series_schema()
    assert json.loads(run(tmp_path, "schema", "--json").stdout)["series"] == series_schema()
