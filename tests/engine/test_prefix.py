"""Which leading components of a patch's names are a prefix."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from patchctl.engine import reader
from patchctl.engine.model import Patch
from patchctl.engine.prefix import settle
from patchctl.errors import Refused

HUNK = "@@ -1 +1 @@\n-N = 1\n+N = 2\n"


def edit(old: str, new: str) -> str:
    return f"--- {old}\n+++ {new}\n{HUNK}"


def git(old: str, new: str) -> str:
    return f"diff --git {old} {new}\n{edit(old, new)}"


def create(name: str, header: str = "") -> str:
    return f"{header}--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+N = 1\n"


def settled(text: str, *files: str, layout: Mapping[str, str] | None = None) -> Patch:
    (patch,) = reader.read(text.encode(), "p.patch")

    def folder(name: str) -> bool:
        return any(file.startswith(f"{name}/") for file in files)

    return settle(patch, lambda name: name in files, folder, lambda: layout or {})


def names(patch: Patch) -> list[str]:
    return [section.path for section in patch.files]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a/pkg/m.py", "b/pkg/m.py"),
        ("b/pkg/m.py", "a/pkg/m.py"),
        ("i/pkg/m.py", "w/pkg/m.py"),
        ("c/pkg/m.py", "i/pkg/m.py"),
        ("1/pkg/m.py", "2/pkg/m.py"),
        ("tree-1.0.orig/pkg/m.py", "tree-1.0/pkg/m.py"),
        ("pkg/m.py", "pkg/m.py"),
    ],
)
@pytest.mark.parametrize("header", [edit, git])
def test_what_the_two_sides_show(header: object, old: str, new: str) -> None:
    assert callable(header)
    assert names(settled(header(old, new), "pkg/m.py")) == ["pkg/m.py"]


def test_a_shorter_name_that_exists_is_not_taken() -> None:
    assert names(settled(git("srt/m.py", "srt/m.py"), "srt/m.py", "m.py")) == ["srt/m.py"]
    with pytest.raises(Refused) as refused:
        settled(git("srt/m.py", "srt/m.py"), "m.py")
    assert "m.py is there" in refused.value.problems[0].message


def test_a_deeper_prefix_is_named_not_taken() -> None:
    with pytest.raises(Refused) as refused:
        settled(edit("x/y/pkg/m.py", "x/y/pkg/m.py"), "pkg/m.py")
    (problem,) = refused.value.problems
    assert problem.kind == "prefix"
    assert "pkg/m.py is there, with 2 leading components" in problem.message
    assert problem.patch == "p.patch"


def test_the_layout_of_a_series_maps_names() -> None:
    layout = {"python/sglang/": "sglang/"}
    patch = settled(git("a/python/sglang/m.py", "b/python/sglang/m.py"), "sglang/m.py", layout=layout)
    assert names(patch) == ["sglang/m.py"]


def test_some_files_prove_the_prefix_for_all() -> None:
    text = git("a/one.py", "b/one.py") + git("a/gone.py", "b/gone.py")
    assert names(settled(text, "one.py")) == ["one.py", "gone.py"]


def test_two_readings_that_both_find_files_are_refused() -> None:
    text = git("a/x/one.py", "b/x/one.py") + git("a/x/two.py", "b/x/two.py")
    with pytest.raises(Refused):
        settled(text, "x/one.py", "one.py", "two.py")


def test_a_creation_follows_its_git_header() -> None:
    header = "diff --git a/new.py b/new.py\nnew file mode 100644\n"
    assert names(settled(create("b/new.py", header), "b/other.py")) == ["new.py"]
    header = "diff --git b/new.py b/new.py\nnew file mode 100644\n"
    assert names(settled(create("b/new.py", header), "b/other.py")) == ["b/new.py"]


def test_a_creation_without_header() -> None:
    assert names(settled(create("b/new.py"), "pkg/m.py")) == ["new.py"]
    assert names(settled(create("pkg/new.py"), "pkg/m.py")) == ["pkg/new.py"]
    with pytest.raises(Refused) as refused:
        settled(create("b/new.py"), "b/m.py")
    assert "may mean" in refused.value.problems[0].message


def test_a_file_that_the_patch_makes_need_not_exist() -> None:
    text = create("b/new.py") + git("a/new.py", "b/new.py") + git("a/m.py", "b/m.py")
    assert names(settled(text, "m.py")) == ["new.py", "new.py", "m.py"]


def test_nothing_found_names_what_was_looked_for() -> None:
    with pytest.raises(Refused) as refused:
        settled(git("a/pkg/m.py", "b/pkg/m.py"), "other.py")
    assert "looked for pkg/m.py" in refused.value.problems[0].message


def test_a_new_file_goes_by_the_layout_where_the_tree_has_no_such_folder() -> None:
    text = create(
        "b/python/pkg/new.json", "diff --git a/python/pkg/new.json b/python/pkg/new.json\nnew file mode 100644\n"
    )
    layout = {"python/pkg/": "pkg/"}
    assert names(settled(text, "pkg/m.py", layout=layout)) == ["pkg/new.json"]
    assert names(settled(text, "python/pkg/m.py", "pkg/m.py", layout=layout)) == ["python/pkg/new.json"]
    assert names(settled(text, "lib/m.py", layout=layout)) == ["python/pkg/new.json"]
    assert names(settled(text, "pkg/m.py")) == ["python/pkg/new.json"]
