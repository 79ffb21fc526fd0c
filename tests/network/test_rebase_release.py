"""The team's series carried to releases that it was not made for, and what is known to be true of each.

The archives come from the index that pip is configured with, once for all tests.
"""

from __future__ import annotations

import ast
import io
import shutil
import subprocess
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from patchctl.series.edit import SeriesEditor
from tests.network.test_real_release import Release
from tests.projects import OWN, Run

pytestmark = [pytest.mark.network, pytest.mark.slow]

LATER = tuple(f"v0.5.{patch}" for patch in range(10, 24))
EAGLE3 = ("get_embed_and_head", "set_embed_and_head", "set_eagle3_layers_to_capture")
MOVED = "v0.5.10"
PAIR = ("sm120-all-reduce-sizes", "sm120-torch-symm-mem")
COMMUNICATORS = "python/sglang/srt/distributed/device_communicators"
CONFIGS = "python/sglang/srt/layers/moe/fused_moe_triton/configs"


class Moves(Release):
    """A copy of the series, and the releases as trees."""

    def dry_run(self, to: str) -> Run:
        return self.patchctl("rebase", "--from", "v0.5.9", "--to", to, "--dry-run")

    def tree(self, tag: str) -> Path:
        """The release unpacked, from the cache that a run has filled."""
        folder = self.folder / "trees" / tag
        if not folder.exists():
            cache = next((self.folder / "cache").rglob("HEAD")).parent
            command = ["git", "--git-dir", str(cache), "archive", f"refs/upstream/pypi/{tag}"]
            data = subprocess.run(command, check=True, capture_output=True).stdout
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(folder, filter="data")
        return folder


@pytest.fixture(scope="module")
def moves(tmp_path_factory: pytest.TempPathFactory) -> Moves:
    found = Moves(tmp_path_factory.mktemp("moves"))
    # As it was before somebody moved it.
    series = found.project / "series.yaml"
    editor = SeriesEditor(series.read_bytes())
    editor.remove_target(MOVED)
    series.write_bytes(editor.finish())
    shutil.rmtree(found.project / "patches" / MOVED)
    for command in (("fetch", "v0.5.9", "v0.5.4", "--source", "pypi"), ("lock",)):
        done = found.patchctl(*command)
        assert done.code == 0, done.words
    return found


def twice(source: bytes) -> Counter[str]:
    """The names that one scope of a module defines more than once by plain definitions, with how often."""
    found: Counter[str] = Counter()
    for scope in ast.walk(ast.parse(source)):
        if isinstance(scope, (ast.Module, ast.ClassDef)):
            plain = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            names = Counter(node.name for node in scope.body if isinstance(node, plain) and not node.decorator_list)
            found.update({f"{getattr(scope, 'name', '')}.{name}": n for name, n in names.items() if n > 1})
    return found


@pytest.mark.parametrize("to", LATER)
def test_no_release_is_given_what_it_has(moves: Moves, to: str, tmp_path: Path) -> None:
    done = moves.dry_run(to)
    assert done.code == 3, done.words
    (kimi,) = (patch for patch in done.document["patches"] if patch["id"] == "kimi-k25-eagle3")
    assert kimi["outcome"] in ("superseded", "upstreamed")
    assert all(name in done.words for name in EAGLE3)
    assert "kimi-k25-eagle3" in done.document["decisions_needed"] or kimi["outcome"] == "upstreamed"
    base, onto = moves.tree("v0.5.9"), moves.tree(to)
    for patch in sorted((moves.project / "patches/v0.5.9").glob("*.patch")):
        out = tmp_path / patch.stem
        ported = moves.patchctl("port", patch, "--base", base, "--onto", onto, "--output", out)
        assert ported.code in (0, 3), ported.words
        if ported.code == 0:
            check(onto, out, ported)


def check(onto: Path, out: Path, ported: Run) -> None:
    """What was written parses, and defines nothing twice that the release defines once."""
    for path in ported.document["written"]:
        if path.endswith(".py"):
            before = (onto / path).read_bytes() if (onto / path).exists() else b""
            assert twice((out / path).read_bytes()) == twice(before), path


@pytest.mark.parametrize(
    ("id", "to"),
    [("guard-in-place-symm-mem", "v0.5.14"), ("sm120-gpt-oss-mxfp4", "v0.5.10"), ("kimi-k25-eagle3", "v0.5.10")],
)
def test_what_a_release_has_is_said(moves: Moves, id: str, to: str) -> None:
    outcome = moves.dry_run(to).outcomes[id]
    assert outcome == "upstreamed" or (id, outcome) == ("kimi-k25-eagle3", "superseded")


def test_the_pair_moves_over_the_rename(moves: Moves, tmp_path: Path) -> None:
    done = moves.patchctl("rebase", "--from", "v0.5.4", "--to", "v0.5.9", "--into-existing", "--dry-run")
    assert done.code == 0, done.words
    assert {id: done.outcomes[id] for id in PAIR} == dict.fromkeys(PAIR, "relocated")
    assert [patch["existing"] for patch in done.document["patches"]] == ["equal", "equal"]
    old, new = moves.tree("v0.5.4"), moves.tree("v0.5.9")
    patches = [moves.project / f"patches/v0.5.4/{id}.patch" for id in PAIR]
    ported = moves.patchctl("port", *patches, "--base", old, "--onto", new, "--output", tmp_path / "out")
    assert ported.code == 0, ported.words
    assert sorted(ported.document["written"]) == [
        f"{COMMUNICATORS}/all_reduce_utils.py",
        f"{COMMUNICATORS}/torch_symm_mem.py",
    ]
    for name in ("all_reduce_utils.py", "torch_symm_mem.py"):
        text = (tmp_path / "out" / COMMUNICATORS / name).read_text()
        compile(text, name, "exec")
        assert " SYMM_MEM_ALL_REDUCE" not in text and "TORCH_SYMM_MEM_ALL_REDUCE_MAX_SIZES" in text
        # What moved is what the team wrote for the later release.
        assert text == (moves.checkout("v0.5.9") / COMMUNICATORS / name).read_text()


def test_the_series_was_moved_by_this_very_command(moves: Moves, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(moves.project, project, ignore=shutil.ignore_patterns("build"))
    begun = moves.patchctl("rebase", "--to", MOVED, cwd=project)
    assert (begun.code, begun.document["decisions_needed"]) == (3, ["kimi-k25-eagle3"]), begun.words
    done = moves.patchctl("rebase", "--drop", "kimi-k25-eagle3", "--reason", "upstream's own", cwd=project)
    assert done.code == 0, done.words
    folders = [root / "patches" / MOVED for root in (OWN, project)]
    ours, made = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert ours == made
    assert moves.patchctl("apply", "--target", MOVED, cwd=project).code == 0


def test_a_file_is_not_put_where_nobody_reads_it(moves: Moves, tmp_path: Path) -> None:
    name = f"{CONFIGS}/triton_3_5_1/E=8,N=512,device_name=NVIDIA_RTX_PRO_6000.json"
    text = '{"1": {"BLOCK_SIZE_M": 16}}'
    patch = tmp_path / "moe-config-rtx-pro-6000.patch"
    patch.write_text(
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{text}\n"
    )
    moves.dry_run("v0.5.11")
    ported = moves.patchctl("port", patch, "--base", moves.tree("v0.5.9"), "--onto", moves.tree("v0.5.11"))
    assert ported.code == 3, ported.words
    (found,) = ported.document["patches"]
    assert "folder-moved" in [note["kind"] for note in found["review"]]
    assert "moe_runner/triton_utils/configs" in ported.words
