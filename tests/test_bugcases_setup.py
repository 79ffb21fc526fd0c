"""The cases of the public corpus that need a set-up, several runs or a series: through ``apply``.

Each test is built from its case's folder; see bugcases.md in the shared folder. The corpus' licence keeps it out of
this repository, so the tests skip where ``../shared`` is absent.
"""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.projects import OWN, Run, Upstream, environment, git, lock, patchctl, picture
from tests.target import wheels

ARCHIVE = OWN.parent / "shared" / "bugcases.tar.gz"
pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="../shared/bugcases.tar.gz is not here")

SERIES = """\
version: 1
upstream:
  name: srt
  git: {git}
  pypi: srt
  tag: "v{{version}}"
  layout: {{"{prefix}srt/": "srt/"}}
targets:
  v{version}:
    pin: {{commit: "{commit}"}}
    patches: [{ids}]
patches:
{entries}"""
ENTRY = "  {id}: {{title: t, why: w, owner: o, upstream: {{status: pending}}{more}}}\n"


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root)  # links in it point outside on purpose; nothing here follows them
    return next(root.rglob("index.json")).parent


@dataclass(frozen=True)
class Case:
    """A case as a project with a series, and its tree as a place."""

    folder: Path
    root: Path

    @property
    def tree(self) -> Path:
        return self.root / "deep" / "tree"

    @property
    def project(self) -> Path:
        return self.root / "project"

    def unpack(self) -> Path:
        shutil.copytree(self.folder / "tree", self.tree, symlinks=True)
        return self.tree

    def checkout(self) -> Path:
        git(self.tree, "init", "-q")
        git(self.tree, "add", "-A")
        git(self.tree, "commit", "-qm", "release")
        return self.tree

    def site(self, record: bool = True) -> Path:
        """The tree as the site-packages of an environment; with a RECORD, as pip would have written one."""
        site = wheels.environment(self.root / "env")
        shutil.copytree(self.folder / "tree", site, symlinks=True, dirs_exist_ok=True)
        info = next(site.glob("srt-*.dist-info"))
        if record and not (info / "RECORD").exists():
            names = [path for folder in ("srt", info.name) for path in (site / folder).rglob("*") if path.is_file()]
            lines = [f"{path.relative_to(site)},sha256={wheels.digest(path.read_bytes())}," for path in names]
            (info / "RECORD").write_text(
                "".join(f"{line}{path.stat().st_size}\n" for line, path in zip(lines, names, strict=True))
                + f"{info.name}/RECORD,,\n"
            )
        return site

    def carry(
        self,
        *patches: str,
        prefix: str = "",
        version: str = "1.0",
        more: str = "",
        release: Mapping[str, str] | None = None,
    ) -> None:
        """Make the project: ``patches`` of the case's folder on its tree. Where the tree is not what the patch was
        made for, ``release`` says what upstream has."""
        source = self.root / "upstream"
        shutil.copytree(self.folder / "tree", source / prefix, symlinks=True)
        for path in [*source.rglob("*.dist-info"), *source.rglob("*.pth")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, text in (release or {}).items():
            path = source / name
            if path.parent.is_symlink():
                path.parent.unlink()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(source, "init", "-q")
        git(source, "add", "-A")
        git(source, "commit", "-qm", "release", "--allow-empty")
        git(source, "tag", f"v{version}")
        commit = git(source, "rev-parse", "HEAD").strip()
        folder = self.project / "patches" / f"v{version}"
        folder.mkdir(parents=True)
        ids = {name.partition(".")[0]: name for name in patches}
        for id, name in ids.items():
            shutil.copy(self.folder / name, folder / f"{id}.patch")
        entries = "".join(ENTRY.format(id=id, more=more) for id in ids)
        (self.project / "series.yaml").write_text(
            SERIES.format(
                git=source, prefix=prefix, version=version, commit=commit, ids=", ".join(ids), entries=entries
            )
        )
        lock(self.project, Upstream(source, commit), self.root / "cache")

    def run(self, *args: str | Path, **env: str | None) -> Run:
        return patchctl(*args, cwd=self.project, env=environment(**env))

    def apply(self, **env: str | None) -> Run:
        return self.run("apply", "--into", self.tree, **env)

    def installed(self) -> tuple[str, ...]:
        return ("--installed", "--python", str(self.root / "env/bin/python"))

    def is_as_expected(self, root: Path | None = None) -> bool:
        return contents(root or self.tree) == contents(self.folder / "expected")

    def is_untouched(self) -> bool:
        return contents(self.tree) == contents(self.folder / "tree")


def contents(root: Path) -> dict[str, tuple[object, ...]]:
    """Files and links without patchctl's own, bytecode and git's; of modes only whether they can be run."""
    found = {}
    for name, state in picture(root).items():
        parts = name.split("/")
        if state[0] == "folder" or not {".patchctl", "__pycache__"}.isdisjoint(parts):
            continue
        found[name] = (state[0], *state[2:]) if state[0] == "file" else state
    return found


@pytest.fixture
def case(corpus: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Case:
    """The case whose number stands in the test's name."""
    number = request.function.__name__.split("_")[1]
    return Case(next(corpus.glob(f"{number}-*")), tmp_path)


def test_057_umask_077(case: Case) -> None:
    case.carry("patch.diff")
    (case.unpack() / "pkg/mod.py").chmod(0o644)
    command = ["sh", "-c", f"umask 077; exec {sys.executable} -m patchctl apply --into {case.tree}"]
    env = {**environment(), "PYTHONPATH": str(OWN)}
    subprocess.run(command, cwd=case.project, env=env, check=True, capture_output=True)
    assert case.is_as_expected() and (case.tree / "pkg/mod.py").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("kind", ["tree", "checkout"])
def test_108_trailing_blanks_must_survive(case: Case, kind: str) -> None:
    case.carry("patch.diff")
    case.unpack()
    if kind == "checkout":
        case.checkout()
    home = case.root / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[apply]\n\twhitespace = fix\n[core]\n\tautocrlf = true\n\twhitespace = trailing-space\n"
    )
    done = case.apply(HOME=str(home), GIT_CONFIG_GLOBAL=None)
    assert done.code == 0 and case.is_as_expected()


def run_again(case: Case, runs: int) -> None:
    case.carry("patch.diff")
    case.unpack()
    for number in range(runs):
        done = case.apply()
        assert done.code == 0 and case.is_as_expected()
        assert done.outcomes == {"patch": "already" if number else "applied"}


def test_113_second_run_repeats_list_entry(case: Case) -> None:
    run_again(case, 2)


def test_114_second_run_must_not_reverse(case: Case) -> None:
    run_again(case, 4)


@pytest.mark.parametrize("locale", ["C", "de_DE.UTF-8", "tr_TR.UTF-8"])
def test_137_series_file_glob_order(case: Case, locale: str) -> None:
    case.carry("1-helper.patch", "2-use.patch", "10-eleven.patch")
    case.unpack()
    done = case.apply(LC_ALL=locale)
    assert done.code == 0 and list(done.outcomes) == ["1-helper", "2-use", "10-eleven"] and case.is_as_expected()


@pytest.mark.parametrize("kind", ["tree", "checkout"])
def test_149_tree_holds_link_to_outside(case: Case, kind: str) -> None:
    case.carry("patch.diff", release={"data/x.py": "X = 1\n"})
    case.unpack()
    outside = case.root / "deep" / "outside_dir"
    outside.mkdir()
    (outside / "x.py").write_text("X = 1\n")
    if kind == "checkout":
        case.checkout()
    done = case.apply()
    assert done.code == 5 and "data" in done.words
    assert (outside / "x.py").read_text() == "X = 1\n" and [path.name for path in outside.iterdir()] == ["x.py"]
    assert case.is_untouched() or kind == "checkout"


def test_168_tree_inside_another_git_repo(case: Case) -> None:
    case.carry("patch.diff")
    outer = case.root / "deep"
    outer.mkdir()
    git(outer, "init", "-q")
    case.unpack()
    assert case.apply().code == 0 and case.is_as_expected()
    assert git(outer, "ls-files") == ""


def test_169_git_am_needs_identity(case: Case) -> None:
    case.carry("patch.diff")
    case.unpack()
    case.checkout()
    done = case.apply(HOME=None, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    assert done.code == 0 and case.is_as_expected() and git(case.tree, "rev-list", "--count", "HEAD").strip() == "2"


def test_173_dirty_working_tree(case: Case) -> None:
    case.carry("patch.diff")
    case.unpack()
    case.checkout()
    with (case.tree / "pkg/mod.py").open("a") as file:
        file.write("LOCAL = 1\n")
    before = contents(case.tree)
    done = case.apply()
    assert done.code == 5 and done.document["error"]["file"] == "pkg/mod.py" and contents(case.tree) == before


def test_176_two_runs_at_once(case: Case) -> None:
    case.carry("patch.diff")
    case.unpack()
    command = [sys.executable, "-m", "patchctl", "apply", "--into", str(case.tree)]
    env = {**environment(), "PYTHONPATH": str(OWN)}
    running = [subprocess.Popen(command, cwd=case.project, env=env, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0] and case.is_as_expected()


def test_177_read_only_file(case: Case) -> None:
    case.carry("patch.diff")
    case.unpack()
    case.tree.chmod(0o777)
    for path in (case.tree, *case.tree.rglob("*")):
        os.chown(path, 65534, 65534)
    (case.tree / "pkg/mod.py").chmod(0o444)
    done = case.apply()
    assert done.code == 0 and case.is_as_expected()
    found = (case.tree / "pkg/mod.py").stat()
    assert found.st_mode & 0o777 == 0o444 and found.st_uid == 65534


def test_179_disk_full(case: Case) -> None:
    case.carry("patch.diff")
    (case.root / "deep").mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(case.root / "deep")], capture_output=True
    )
    if made.returncode:
        pytest.skip(f"mounting a tmpfs needs more rights: {made.stderr.decode().strip()}")
    try:
        case.unpack()
        with (case.root / "deep/filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"x" * 4096)
        done = case.apply()
        assert done.code == 4 and "full" in done.document["error"]["message"]
        assert case.is_untouched() and not (case.tree / ".patchctl").exists()
    finally:
        subprocess.run(["umount", str(case.root / "deep")], check=True)


@pytest.mark.parametrize("kind", ["tree", "checkout"])
def test_180_messages_in_another_language(case: Case, kind: str) -> None:
    case.carry("patch.diff")
    case.unpack()
    if kind == "checkout":
        case.checkout()
    done = case.apply(LANG="de_DE.UTF-8", LC_ALL="", LANGUAGE="de")
    assert done.code == 0 and case.is_as_expected()


def test_181_stdin_must_not_be_read(case: Case) -> None:
    case.carry("patch.diff", release=removed_side(case.folder / "patch.diff"))
    case.unpack()
    read, write = os.pipe()
    command = [sys.executable, "-m", "patchctl", "apply", "--into", str(case.tree)]
    env = {**environment(), "PYTHONPATH": str(OWN)}
    process = subprocess.Popen(command, cwd=case.project, env=env, stdin=read, stderr=subprocess.DEVNULL)
    assert process.wait(60) == 5 and case.is_untouched()
    os.close(read)
    os.close(write)


def removed_side(patch: Path) -> dict[str, str]:
    """The file that a patch of one hunk was made for."""
    lines = patch.read_text().splitlines(keepends=True)
    name = next(line.split()[1] for line in lines if line.startswith("--- ")).partition("/")[2]
    start = next(number for number, line in enumerate(lines) if line.startswith("@@")) + 1
    return {name: "".join(line[1:] for line in lines[start:] if line[:1] in " -")}


def python(case: Case, code: str) -> str:
    done = subprocess.run(
        [case.root / "env/bin/python", "-B", "-c", code], capture_output=True, text=True, check=True, cwd=case.root
    )
    return done.stdout.strip()


def test_188_record_hash_now_wrong(case: Case) -> None:
    case.carry("patch.diff")
    site = case.site()
    before = picture(site)
    assert case.run("apply", *case.installed()).code == 0
    listed = list(csv.reader((site / "srt-1.0.dist-info/RECORD").read_text().splitlines()))
    for name, sums, size in listed:
        data = (site / name).read_bytes()
        assert not sums or (sums, int(size)) == (f"sha256={wheels.digest(data)}", len(data)), name
    assert "srt/extra.py" in {name for name, _, _ in listed}
    for name in ("srt/caps.py", "srt/extra.py", "srt/__init__.py"):
        assert (site / name).read_bytes() == (case.folder / "expected" / name).read_bytes()
    assert case.run("unapply", *case.installed()).code == 0 and picture(site) == before


def test_189_stale_pyc_same_size_same_mtime(case: Case) -> None:
    case.carry("patch.diff")
    site = case.site()
    os.utime(site / "srt/caps.py", (1_000_000_000, 1_000_000_000))
    subprocess.run([case.root / "env/bin/python", "-m", "compileall", "-q", site / "srt"], check=True)
    assert case.run("apply", *case.installed()).code == 0
    os.utime(site / "srt/caps.py", (1_000_000_000, 1_000_000_000))
    assert python(case, "import srt.caps; print(srt.caps.SM)") == "[9, 12]"


def test_194_egg_link_editable_install(case: Case) -> None:
    case.carry("patch.diff", release=removed_side(case.folder / "patch.diff"))
    site = case.site(record=False)
    before = picture(site)
    done = case.run("apply", *case.installed())
    assert done.code == 5 and picture(site) == before and not (site / "srt").exists()
    assert "editable" in done.words or "srt/caps.py" in done.words


@pytest.mark.parametrize("way", ["installed", "into"])
def test_195_prefix_inside_wheel_differs(case: Case, way: str) -> None:
    case.carry("patch.diff", prefix="python/")
    site = case.site()
    options = case.installed() if way == "installed" else ("--into", str(site))
    assert case.run("apply", *options).code == 0
    assert (site / "srt/caps.py").read_bytes() == (case.folder / "expected/srt/caps.py").read_bytes()


def test_200_gitpython_strips_last_newline(case: Case) -> None:
    case.carry("patch.diff")
    case.unpack()
    case.checkout()
    assert case.apply().code == 0 and case.is_as_expected()
    exported = git(case.tree, "diff", "HEAD~1", "HEAD").encode()
    wanted = (case.folder / "patch.diff").read_bytes()
    assert exported[exported.index(b"--- ") :] == wanted[wanted.index(b"--- ") :]


def invalid(case: Case, change: Callable[[str], str], *words: str) -> None:
    """A series.yaml that must not be guessed at: exit 2 with line and column, and nothing written."""
    case.carry("patch.diff" if (case.folder / "patch.diff").exists() else "0001-a.patch")
    case.unpack()
    path = case.project / "series.yaml"
    text = path.read_text()
    path.write_text(change(text))
    assert path.read_text() != text
    done = case.apply()
    assert done.code == 2 and case.is_untouched()
    assert "series.yaml" in done.words and all(word in done.words for word in words), done.words


def test_205_yaml_version_read_as_float(case: Case) -> None:
    invalid(case, lambda text: text.replace("owner: o", "owner: o, requires: {torch: 1.10}"), "torch", "1.10")


def test_205_yaml_tag_read_as_float(case: Case) -> None:
    invalid(case, lambda text: text.replace("v1.0:", "1.10:"), "1.10")


@pytest.mark.parametrize("name", ["0010", "1_000", "2026-01-02", "no", "on"])
def test_206_yaml_patch_name_not_a_string(case: Case, name: str) -> None:
    """Such a name is an error with its text, or read as it is written; never another file."""
    shutil.copytree(case.folder, case.root / "copy")
    copy = Case(case.root / "copy", case.root)
    (copy.folder / "0010").rename(copy.folder / "0001-a.patch")
    invalid(copy, lambda text: text.replace("patches: [0001-a]", f"patches: [0001-a, {name}]"), name)


def test_207_yaml_key_twice(case: Case) -> None:
    invalid(case, lambda text: text.replace("    patches: [", "    patches: [0001-a]\n    patches: ["), "patches")


def test_209_series_names_missing_patch(case: Case) -> None:
    case.carry("0001-a.patch")
    case.unpack()
    path = case.project / "series.yaml"
    text = path.read_text().replace("patches: [0001-a]", "patches: [0001-a, 0002-missing]")
    path.write_text(text + ENTRY.format(id="0002-missing", more=""))
    done = case.apply()
    assert done.code == 5 and "0002-missing.patch" in done.document["error"]["file"] and case.is_untouched()


def test_210_patch_in_directory_but_not_in_series(case: Case) -> None:
    case.carry("0001-a.patch")
    case.unpack()
    shutil.copy(case.folder / "0002-forgotten.patch", case.project / "patches/v1.0")
    done = case.apply()
    assert done.code == 0 and case.is_as_expected()
    assert "0002-forgotten.patch" in done.document["warnings"][0]["message"]


def test_212_pin_installed_has_local_version(case: Case) -> None:
    case.carry("patch.diff")
    site = case.site()
    done = case.run("apply", *case.installed())
    assert done.code == 0 and done.document["target"] == "v1.0", done.words
    assert (site / "srt/caps.py").read_bytes() == (case.folder / "expected/srt/caps.py").read_bytes()


def test_213_pin_installed_is_post_release(case: Case) -> None:
    case.carry("patch.diff")
    site = case.site()
    before = picture(site)
    done = case.run("apply", *case.installed())
    assert done.code == 5 and "1.0.post1" in done.document["error"]["message"] and "1.0" in done.words
    assert picture(site) == before


def test_214_pin_range_and_release_candidate(case: Case) -> None:
    case.carry("patch.diff", version="1.0rc1", more=', requires: {srt: ">=0.9"}')
    site = case.site()
    done = case.run("apply", *case.installed())
    assert done.code == 0 and done.document["warnings"] == [], done.words
    assert (site / "srt/caps.py").read_bytes() == (case.folder / "expected/srt/caps.py").read_bytes()
