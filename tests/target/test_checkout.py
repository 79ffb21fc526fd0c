"""A git checkout as a place, compared with what git itself makes of the same patch files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchctl.engine.model import FileState
from patchctl.errors import EnvironmentFailed, Refused
from patchctl.series import receipt as receipts
from patchctl.target.checkout import Checkout
from patchctl.target.place import Place
from tests.target.checkouts import (
    AUTHOR,
    BARE_USER,
    Carried,
    am,
    apply,
    git,
    make_series,
    make_upstream,
    picture,
    plan,
    put,
    standing,
)

FORMAT = "--format=%H%n%T%n%an%n%ae%n%ad%n%B%x00"


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_upstream(tmp_path_factory.mktemp("upstream") / "repo")


@pytest.fixture(scope="session")
def series(upstream: Path, tmp_path_factory: pytest.TempPathFactory) -> Carried:
    return make_series(upstream, tmp_path_factory.mktemp("series") / "work")


@pytest.fixture(autouse=True)
def bare_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    for name, value in BARE_USER.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def root(upstream: Path, tmp_path: Path) -> Path:
    return clone(upstream, tmp_path / "checkout")


def clone(upstream: Path, target: Path) -> Path:
    git(upstream, "clone", "-q", str(upstream), str(target))
    return target


def history(root: Path, *, ids: bool = True) -> list[str]:
    lines = git(root, "log", FORMAT if ids else FORMAT.replace("%H%n", ""), "--date=raw", "--encoding=UTF-8").split(
        "\0"
    )
    return [line.strip("\n") for line in lines]


def problems(error: pytest.ExceptionInfo[Refused]) -> list[tuple[str, str | None]]:
    return [(problem.kind, problem.file) for problem in error.value.problems]


def test_is_a_place(root: Path) -> None:
    place: Place = Checkout.open(root)
    assert place.kind == "checkout" and place.root == root and place.carries_modes
    assert place.local("pkg/a.py") == "pkg/a.py" and place.receipt() is None and not place.interrupted()


def test_equals_git_am(root: Path, upstream: Path, series: Carried, tmp_path: Path) -> None:
    other = clone(upstream, tmp_path / "am")
    am(other, series, tmp_path / "mails")
    stored = apply(Checkout.open(root), series)
    assert picture(root) == picture(other)
    assert history(root, ids=False) == history(other, ids=False)
    assert git(root, "status", "--porcelain", "--ignored") == git(other, "status", "--porcelain", "--ignored") == ""
    assert git(root, "ls-files", "-s") == git(other, "ls-files", "-s")
    assert git(root, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert stored is not None and stored.base == git(root, "rev-parse", "origin/main").strip()
    assert [patch.commit for patch in stored.patches] == git(root, "rev-list", "--reverse", "origin/main..").split()
    assert Checkout.open(root).receipt() == stored
    git(root, "fsck", "--strict", "--no-dangling")
    assert not (root / "pkg/gone").exists() and not (root / "pkg/old").exists()


def test_commits_are_the_same_for_everybody(upstream: Path, series: Carried, tmp_path: Path, root: Path) -> None:
    other = clone(upstream, tmp_path / "other")
    for name, value in {
        "user.name": "Another",
        "user.email": "another@example.org",
        "commit.gpgSign": "true",
        "core.autocrlf": "true",
        "core.quotePath": "true",
        "i18n.commitEncoding": "latin1",
        "core.compression": "9",
        "core.hooksPath": str(tmp_path / "hooks"),
        "status.showUntrackedFiles": "all",
        "diff.noprefix": "true",
        "index.version": "4",
        "core.untrackedCache": "true",
    }.items():
        git(other, "config", name, value)
    (tmp_path / "hooks").mkdir()
    for folder in (tmp_path / "hooks", other / ".git/hooks"):
        for hook in ("pre-commit", "commit-msg", "reference-transaction", "post-index-change", "post-commit"):
            (folder / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
            (folder / hook).chmod(0o755)
    apply(Checkout.open(root), series)
    apply(Checkout.open(other), series)
    assert history(root) == history(other)
    assert not (tmp_path / "ran").exists()
    assert git(other, "config", "core.autocrlf", "false") == "" and git(other, "status", "--porcelain") == ""


def test_commits_do_not_depend_on_the_clock_or_the_way(
    root: Path, upstream: Path, series: Carried, tmp_path: Path
) -> None:
    other = clone(upstream, tmp_path / "other")
    apply(Checkout.open(root), series)
    apply(Checkout.open(other), series.only(0, 1, 2))
    first = git(other, "rev-parse", "HEAD").strip()
    apply(Checkout.open(other), series, series.only(0, 1, 2))
    assert history(root) == history(other)
    assert first in git(other, "rev-list", "HEAD").split()


def test_unapply_restores_all(root: Path, series: Carried) -> None:
    before = standing(root)
    place = Checkout.open(root)
    apply(place, series)
    assert apply(place, None, series) is None
    assert standing(root) == before
    assert "unapply" in git(root, "reflog", "-1")


def test_series_change_is_one_move(root: Path, series: Carried) -> None:
    place = Checkout.open(root)
    apply(place, series)
    commits = git(root, "rev-list", "HEAD").split()
    shorter = series.only(0, 1, 2, 3)
    stored = apply(place, shorter, series)
    assert stored is not None and git(root, "rev-parse", "HEAD").strip() == stored.patches[-1].commit
    assert git(root, "rev-parse", "HEAD").strip() in commits
    assert git(root, "status", "--porcelain", "--ignored") == ""
    assert (root / "pkg/swap").is_file() and not (root / "pkg/trace.log").exists()
    assert len(git(root, "reflog", "HEAD").splitlines()) == 3


def test_detached_head_stays_detached(root: Path, series: Carried) -> None:
    git(root, "checkout", "-q", "--detach")
    stored = apply(Checkout.open(root), series)
    assert stored is not None
    assert git(root, "rev-parse", "--symbolic-full-name", "HEAD").strip() == "HEAD"
    assert git(root, "rev-parse", "HEAD").strip() == stored.patches[-1].commit
    assert git(root, "rev-parse", "main") == git(root, "rev-parse", "origin/main")
    apply(Checkout.open(root), None, series)
    assert git(root, "rev-parse", "HEAD") == git(root, "rev-parse", "origin/main")


def test_linked_worktrees_have_states_of_their_own(root: Path, series: Carried, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "side", str(linked))
    place = Checkout.open(linked)
    apply(place, series)
    assert place.state_dir == root / ".git/worktrees/linked/patchctl"
    assert Checkout.open(root).receipt() is None
    assert git(root, "status", "--porcelain") == git(linked, "status", "--porcelain") == ""
    apply(Checkout.open(root), series.only(0))
    apply(place, None, series)
    assert git(linked, "rev-parse", "HEAD") == git(root, "rev-parse", "origin/main")


def test_shallow_clone(upstream: Path, series: Carried, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(upstream, "clone", "-q", "--depth=1", f"file://{upstream}", str(shallow))
    apply(Checkout.open(shallow), series)
    assert git(shallow, "status", "--porcelain") == ""


def test_nothing_that_git_status_has_to_read_again(root: Path, series: Carried) -> None:
    apply(Checkout.open(root), series)
    assert git(root, "diff-index", "--name-only", "HEAD") == ""
    assert git(root, "diff-files", "--name-only") == ""


class TestNoCommit:
    def test_changes_files_alone(self, root: Path, upstream: Path, series: Carried, tmp_path: Path) -> None:
        other = clone(upstream, tmp_path / "am")
        am(other, series, tmp_path / "mails")
        index, head = git(root, "ls-files", "-s"), git(root, "rev-parse", "HEAD")
        stored = apply(Checkout.open(root), series, commit=False)
        assert picture(root) == picture(other)
        assert (git(root, "ls-files", "-s"), git(root, "rev-parse", "HEAD")) == (index, head)
        assert stored is not None and all(patch.commit is None for patch in stored.patches)

    def test_is_known_again(self, root: Path, series: Carried) -> None:
        place = Checkout.open(root)
        apply(place, series, commit=False)
        assert place.in_the_way({path: place.read(path) for path in series.final}) == ()

    def test_can_be_taken_back(self, root: Path, series: Carried) -> None:
        before = standing(root)
        apply(Checkout.open(root), series, commit=False)
        apply(Checkout.open(root), None, series)
        assert standing(root) == before

    def test_can_be_committed_later(self, root: Path, upstream: Path, series: Carried, tmp_path: Path) -> None:
        other = clone(upstream, tmp_path / "other")
        apply(Checkout.open(root), series, commit=False)
        apply(Checkout.open(root), series, series)
        apply(Checkout.open(other), series)
        assert history(root) == history(other) and git(root, "status", "--porcelain", "--ignored") == ""

    def test_accepts_nothing_but_our_own_changes(self, root: Path, series: Carried) -> None:
        place = Checkout.open(root)
        apply(place, series, commit=False)
        (root / "pkg/untouched.py").write_text("mine\n")
        (root / "pkg/trace.log").write_text("mine\n")
        with pytest.raises(Refused) as caught:
            apply(place, series, series)
        assert problems(caught) == [("dirty", "pkg/untouched.py"), ("untracked", "pkg/trace.log")]

    def test_a_staged_change_is_a_persons(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series, commit=False)
        git(root, "add", "pkg/a.py")
        with pytest.raises(Refused) as caught:
            apply(Checkout.open(root), None, series)
        assert problems(caught) == [("dirty", "pkg/a.py")]

    def test_commits_of_a_person_on_top(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series, commit=False)
        git(root, "commit", "-q", "-a", "-m", "all of it by hand")
        with pytest.raises(Refused) as caught:
            apply(Checkout.open(root), series, series)
        assert problems(caught) == [("foreign-commits", None)] and "all of it by hand" in str(caught.value)

    def test_not_upon_commits(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series.only(0))
        before = standing(root)
        with pytest.raises(Refused):
            apply(Checkout.open(root), series, series.only(0), commit=False)
        assert standing(root) == before


class TestRefusals:
    def refused(self, root: Path, series: Carried, old: Carried | None = None) -> list[tuple[str, str | None]]:
        before = standing(root)
        with pytest.raises(Refused) as caught:
            apply(Checkout.open(root), series, old)
        assert standing(root) == before
        return problems(caught)

    def test_tracked_changes_anywhere(self, root: Path, series: Carried) -> None:
        (root / "pkg/untouched.py").write_text("edited\n")
        (root / "staged.py").write_text("staged\n")
        git(root, "add", "staged.py")
        assert self.refused(root, series) == [("dirty", "pkg/untouched.py"), ("dirty", "staged.py")]

    def test_untracked_files_elsewhere_do_no_harm(self, root: Path, series: Carried) -> None:
        (root / "notes.txt").write_text("mine\n")
        (root / "pkg/swapped").mkdir()
        apply(Checkout.open(root), series)
        assert (root / "notes.txt").read_text() == "mine\n"
        assert git(root, "status", "--porcelain") == "?? notes.txt\n"

    def test_untracked_and_ignored_files_in_the_way(self, root: Path, series: Carried) -> None:
        (root / "pkg/trace.log").write_text("mine, and ignored\n")
        (root / "pkg/other").write_text("mine\n")
        (root / "pkg/new").write_text("a file where a folder must be\n")
        assert sorted(self.refused(root, series)) == [
            ("untracked", "pkg/new"),
            ("untracked", "pkg/other"),
            ("untracked", "pkg/trace.log"),
        ]

    def test_untracked_file_in_a_folder_that_shall_be_a_file(self, root: Path, series: Carried) -> None:
        put(root, "pkg/fold/mine.txt", (b"mine\n", 0o100644))
        assert self.refused(root, series) == [("untracked", "pkg/fold/mine.txt")]

    def test_an_untracked_folder_where_a_file_shall_be(self, root: Path, series: Carried) -> None:
        put(root, "pkg/other/mine.txt", (b"mine\n", 0o100644))
        assert self.refused(root, series) == [("untracked", "pkg/other/mine.txt")]

    def test_an_untracked_file_where_only_our_files_were(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series)
        put(root, "pkg/swap/mine.txt", (b"mine\n", 0o100644))
        before = standing(root)
        with pytest.raises(Refused) as caught:
            apply(Checkout.open(root), None, series)
        assert problems(caught) == [("untracked", "pkg/swap/mine.txt")]
        assert standing(root) == before

    def test_foreign_commits_are_named(self, root: Path, series: Carried) -> None:
        place = Checkout.open(root)
        apply(place, series.only(0))
        (root / "pkg/untouched.py").write_text("mine\n")
        git(root, "commit", "-q", "-a", "-m", "Work of a person")
        before = standing(root)
        for new in (series, None):
            with pytest.raises(Refused) as caught:
                apply(place, new, series.only(0))
            assert problems(caught) == [("foreign-commits", None)] and "Work of a person" in str(caught.value)
        assert standing(root) == before

    def test_an_amended_commit_is_foreign(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series.only(0))
        git(root, "commit", "-q", "--amend", "-m", "My own words")
        assert self.refused(root, series, series.only(0)) == [("foreign-commits", None)]

    def test_a_head_moved_back_into_the_series(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series)
        git(root, "reset", "-q", "--hard", "HEAD~2")
        assert self.refused(root, series, series) == [("foreign-commits", None)]

    def test_a_head_moved_back_to_the_base_is_fine(self, root: Path, series: Carried) -> None:
        apply(Checkout.open(root), series)
        tip = git(root, "rev-parse", "HEAD")
        git(root, "reset", "-q", "--hard", "origin/main")
        apply(Checkout.open(root), series, series)
        assert git(root, "rev-parse", "HEAD") == tip and git(root, "status", "--porcelain") == ""
        git(root, "reset", "-q", "--hard", "origin/main")
        apply(Checkout.open(root), None, series)
        assert Checkout.open(root).receipt() is None

    def test_a_receipt_of_another_branch_counts_for_nothing(self, root: Path, series: Carried) -> None:
        git(root, "branch", "elsewhere")
        apply(Checkout.open(root), series.only(0))
        git(root, "checkout", "-q", "elsewhere")
        (root / "pkg/untouched.py").write_text("a later release\n")
        git(root, "commit", "-q", "-a", "-m", "a later release")
        assert Checkout.open(root).receipt() is None
        apply(Checkout.open(root), series)
        assert git(root, "log", "-1", "--skip=11", "--format=%s").strip() == "a later release"

    def test_a_merge_in_progress(self, root: Path, series: Carried) -> None:
        git(root, "checkout", "-q", "-b", "side")
        (root / "new.py").write_text("x\n")
        git(root, "add", "new.py")
        git(root, "commit", "-q", "-m", "side")
        git(root, "checkout", "-q", "main")
        git(root, "merge", "-q", "--no-commit", "--no-ff", "side")
        assert self.refused(root, series) == [("in-progress", None)]

    @pytest.mark.parametrize("job", ["rebase-apply", "sequencer"])
    def test_a_job_that_waits_for_a_person(self, root: Path, series: Carried, job: str) -> None:
        (root / ".git" / job).mkdir()
        assert self.refused(root, series) == [("in-progress", None)]

    def test_no_commit_yet(self, tmp_path: Path, series: Carried) -> None:
        git(tmp_path, "init", "-q", "empty")
        with pytest.raises(Refused) as caught:
            Checkout.open(tmp_path / "empty").in_the_way({})
        assert problems(caught) == [("unborn-head", None)]

    def test_bare_repository(self, upstream: Path, tmp_path: Path) -> None:
        git(upstream, "clone", "-q", "--bare", str(upstream), str(tmp_path / "bare.git"))
        with pytest.raises(Refused) as caught:
            Checkout.open(tmp_path / "bare.git")
        assert problems(caught) == [("bare", None)]

    def test_not_the_top_folder(self, root: Path) -> None:
        with pytest.raises((Refused, EnvironmentFailed)):
            Checkout.open(root / "pkg")

    def test_other_object_ids(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "--object-format=sha256", "other")
        with pytest.raises(Refused) as caught:
            Checkout.open(tmp_path / "other")
        assert problems(caught) == [("object-format", None)]

    def test_sparse_checkout(self, root: Path, series: Carried) -> None:
        git(root, "sparse-checkout", "set", "--no-cone", "/pkg/a.py", "/.gitignore")
        place = Checkout.open(root)
        found = place.in_the_way({path: place.read(path) for path in ("pkg/a.py", "pkg/run.sh", "pkg/swap")})
        assert [(problem.kind, problem.file) for problem in found] == [
            ("skip-worktree", "pkg/run.sh"),
            ("skip-worktree", "pkg/swap"),
        ]
        apply(place, series.only(0))
        assert git(root, "status", "--porcelain") == ""

    def test_assume_unchanged(self, root: Path, series: Carried) -> None:
        git(root, "update-index", "--assume-unchanged", "pkg/a.py")
        assert self.refused(root, series) == [("assume-unchanged", "pkg/a.py")]

    @pytest.mark.parametrize(
        "line",
        [
            "*.py filter=lfs",
            "*.py working-tree-encoding=UTF-16LE",
            "*.py eol=crlf",
            "*.py text eol=crlf",
        ],
    )
    def test_attributes_that_change_bytes(self, root: Path, series: Carried, line: str) -> None:
        (root / ".git/info/attributes").write_text(f"{line}\n")
        place = Checkout.open(root)
        found = place.in_the_way({path: place.read(path) for path in ("pkg/a.py", "pkg/run.sh")})
        assert ("attributes", "pkg/a.py") in [(problem.kind, problem.file) for problem in found]
        assert "pkg/run.sh" not in [problem.file for problem in found]

    @pytest.mark.parametrize("line", ["*.py text", "*.py eol=lf", "* text=auto", "*.py -text", "*.py ident"])
    def test_attributes_that_change_nothing(self, root: Path, series: Carried, line: str) -> None:
        (root / ".git/info/attributes").write_text(f"{line}\n")
        apply(Checkout.open(root), series)
        assert git(root, "status", "--porcelain") == ""

    def test_bytes_that_attributes_would_change_on_the_way_in(self, root: Path, series: Carried) -> None:
        (root / ".git/info/attributes").write_text("*.py text\n")
        data = series.pristine["pkg/a.py"]
        assert data is not None
        crlf = FileState(data.data.replace(b"\n", b"\r\n"))
        changed = series.only(0)
        step = changed.steps[0]
        changed = Carried(changed.pristine, changed.patches, (type(step)(step.id, step.mail, {"pkg/a.py": crlf}),))
        assert self.refused(root, changed) == [("read-back", "pkg/a.py")]

    def test_submodules_are_left_alone(self, root: Path, upstream: Path, series: Carried) -> None:
        git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(upstream), "third")
        git(root, "commit", "-q", "-m", "a submodule")
        place = Checkout.open(root)
        found = place.in_the_way({"third/pkg/a.py": place.read("third/pkg/a.py")})
        assert [problem.kind for problem in found] == ["submodule"]
        (root / "third/pkg/a.py").write_text("somebody's\n")
        apply(place, series)
        assert git(root, "status", "--porcelain") == " M third\n"

    def test_a_link_on_the_way(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (root / "way").symlink_to(tmp_path / "outside")
        with pytest.raises(Refused):
            Checkout.open(root).read("way/in.py")

    def test_thousands_of_changes_are_counted(self, root: Path, series: Carried) -> None:
        for number in range(30):
            (root / f"f{number:02}.py").write_text("x\n")
        git(root, "add", "-A")
        assert len(self.refused(root, series)) == 21

    def test_a_receipt_that_nobody_can_read(self, root: Path) -> None:
        (root / ".git/patchctl").mkdir()
        (root / ".git/patchctl/receipt.json").write_text("{}")
        with pytest.raises(Refused) as caught:
            Checkout.open(root).receipt()
        assert problems(caught) == [("receipt", str(root / ".git/patchctl/receipt.json"))]

    def test_files_that_changed_since_they_were_looked_at(self, root: Path, series: Carried) -> None:
        place = Checkout.open(root)
        wanted = plan(place, series)
        (root / "pkg/a.py").write_text("meanwhile\n")
        before = standing(root)
        with pytest.raises(Refused):
            place.write(wanted)
        assert standing(root) == before

    def test_a_head_that_moves_meanwhile(self, root: Path, series: Carried, monkeypatch: pytest.MonkeyPatch) -> None:
        place = Checkout.open(root)
        wanted = plan(place, series)
        moved = type(place._move)._prove

        def prove(*args: object) -> None:
            moved(*args)  # type: ignore[arg-type]
            git(root, "update-ref", "HEAD", git(root, "commit-tree", "-m", "x", "HEAD^{tree}").strip())

        monkeypatch.setattr(type(place._move), "_prove", prove)
        with pytest.raises((Refused, EnvironmentFailed)):
            place.write(wanted)
        assert git(root, "log", "-1", "--format=%s").strip() == "x"


def test_a_stale_lock_on_the_index(root: Path, series: Carried) -> None:
    (root / ".git/index.lock").write_bytes(b"")
    before = standing(root)
    with pytest.raises(EnvironmentFailed) as caught:
        apply(Checkout.open(root), series)
    assert "index.lock" in str(caught.value)
    place = Checkout.open(root)
    with pytest.raises(EnvironmentFailed):
        place.write(plan(place, series))
    assert standing(root) == before


def test_a_repository_that_does_not_trust_modes(root: Path, series: Carried) -> None:
    git(root, "config", "core.fileMode", "false")
    (root / "pkg/a.py").chmod(0o755)
    place = Checkout.open(root)
    assert not place.carries_modes
    apply(place, series)
    assert git(root, "ls-tree", "HEAD", "pkg/run.sh").startswith("100755")
    assert git(root, "ls-tree", "HEAD", "pkg/a.py").startswith("100644")
    assert git(root, "status", "--porcelain") == ""


def test_read_only_objects_fail_before_anything_is_written(
    root: Path, series: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = standing(root)
    place = Checkout.open(root)
    wanted = plan(place, series)
    (root / ".git/objects/pack").rmdir()
    (root / ".git/objects/pack").write_text("no folder")
    with pytest.raises(EnvironmentFailed) as caught:
        place.write(wanted)
    assert "fast-import" in str(caught.value)
    assert standing(root) == before
    assert not list((root / ".git").glob("fast_import_crash*"))


def test_patches_without_a_head(root: Path, series: Carried) -> None:
    from patchctl.engine.model import Mail
    from patchctl.target.place import Step

    steps = tuple(Step(step.id, Mail(), step.files) for step in series.only(0).steps)
    apply(Checkout.open(root), Carried(series.pristine, series.only(0).patches, steps))
    assert git(root, "log", "-1", "--format=%an|%ae|%ad|%s", "--date=raw").strip() == (
        "patchctl|patchctl@invalid|946684800 +0000|p0"
    )


def test_receipt_is_json_that_reads_back(root: Path, series: Carried) -> None:
    stored = apply(Checkout.open(root), series)
    data = (root / ".git/patchctl/receipt.json").read_bytes()
    assert receipts.load(data) == stored
    assert AUTHOR["GIT_AUTHOR_NAME"] not in (stored.tool if stored else "")
    assert [path.name for path in (root / ".git/patchctl").iterdir()] == ["receipt.json"]
