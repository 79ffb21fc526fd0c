"""``patchctl contract`` as a process: on a target with its series and without, on folders, over releases."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import projects
from tests.projects import Bench, Run, environment, git, patchctl

USER = b"""\
class Runner:
    def __init__(self, model):
        self.model = model
        self.model.start()
        if hasattr(self.model, "stop"):
            self.model.stop()
"""
INNER = b"class Inner:\n    def start(self): pass\n"
OUTER = b"from demo.inner import Inner\n\n\nclass Outer:\n    def __init__(self):\n        self.inner = Inner()\n"
PATCHED = OUTER + b"\n    def start(self):\n        return self.inner.start()\n"
FILES = {"python/demo/user.py": USER, "python/demo/inner.py": INNER, "python/demo/outer.py": OUTER}
CONTRACTS = """\
contracts:
  start:
    role: any
    provider: "python/demo/outer.py:Outer"
    consumers:
      - {in: "python/demo/user.py:Runner", object: self.model, when: "<2"}
      - {in: "python/demo/later.py:Runner", object: self.model, when: ">=2"}
"""


class Engine:
    """An upstream with a consumer and a provider, and a project whose one patch makes them fit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.upstream = root / "upstream"
        self.upstream.mkdir(parents=True)
        git(self.upstream, "init", "-q", "-b", "main")
        self.commit = self.release("v1.0", FILES)
        self.project = projects.write(
            root / "project",
            projects.Upstream(self.upstream, self.commit),
            projects.mails(
                projects.Upstream(self.upstream, self.commit),
                root / "scratch",
                {"fit": {"python/demo/outer.py": PATCHED}},
            ),
        )
        self.declare(CONTRACTS)
        self.cache = root / "cache"
        projects.lock(self.project, projects.Upstream(self.upstream, self.commit), self.cache)

    def release(self, tag: str, files: Mapping[str, bytes | None]) -> str:
        for name, data in files.items():
            path = self.upstream / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if data is None else path.write_bytes(data)
        git(self.upstream, "add", "-A")
        git(self.upstream, "commit", "-q", "-m", tag)
        git(self.upstream, "tag", tag)
        return git(self.upstream, "rev-parse", "HEAD").strip()

    def declare(self, contracts: str) -> None:
        path = self.project / "series.yaml"
        path.write_text(path.read_text().partition("contracts:")[0] + contracts)

    def run(self, *args: str | Path, cwd: Path | None = None, text: bool = False) -> Run:
        env = environment(PATCHCTL_CACHE=str(self.cache))
        return patchctl("contract", *args, cwd=cwd or self.project, env=env, text=text)

    def unpack(self, folder: str, strip: str = "", files: Mapping[str, bytes] = FILES) -> Path:
        for name, data in files.items():
            path = self.root / folder / name.removeprefix(strip)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return self.root / folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return Engine(tmp_path_factory.mktemp("engine"))


@pytest.fixture
def engine(made: Engine, tmp_path: Path) -> Engine:
    root = tmp_path / "engine"
    shutil.copytree(made.root, root)
    found = object.__new__(Engine)
    found.root, found.upstream, found.project, found.cache = root, made.upstream, root / "project", root / "cache"
    found.commit = made.commit
    return found


def test_the_patched_target_holds(engine: Engine) -> None:
    done = engine.run()
    assert done.code == 0, done.words
    document = done.document
    assert (document["contract"], document["target"], document["holds"]) == ("start", "v1.0", True)
    assert document["provider"] == "python/demo/outer.py:Outer"
    start, stop = document["requirements"]
    assert start["provided"]["how"] == "delegated" and start["provided"]["via"] == "self.inner"
    assert start["provided"]["inner"]["class"] == "Inner"
    assert start["sites"][0]["path"] == "python/demo/user.py" and start["sites"][0]["line"] == 4
    assert (start["kind"], start["guard"], start["role"], start["condition"]) == ("call", "none", "any", None)
    assert (stop["guard"], stop["provided"]["how"], stop["ok"]) == ("hasattr", "missing", True)
    assert document["unresolved"] == []


def test_without_the_series_the_first_crash_is_named(engine: Engine) -> None:
    done = engine.run("start", "--pristine")
    assert done.code == 1 and done.kinds == ["missing"]
    assert done.document["first"] == {"name": "start", "path": "python/demo/user.py", "line": 4}
    error = done.document["error"]
    assert error["file"] == "python/demo/user.py" and "This is the first crash." in error["message"]
    assert error["next"] == "patchctl contract start --target v1.0 --pristine --explain start"
    assert done.document["adds"] == [
        {"name": "start", "change": "gained", "before": "missing", "after": "delegated to self.inner"}
    ]


@pytest.mark.parametrize("strip", ["", "python/"])
def test_folders_as_a_checkout_or_an_archive_lies(engine: Engine, strip: str) -> None:
    done = engine.run("start", "--tree", engine.unpack("demo-1.0", strip))
    assert done.code == 1 and done.document["target"] == "v1.0", done.words
    assert done.document["requirements"][0]["sites"][0]["path"] == "python/demo/user.py"
    tree = engine.unpack("demo-1.0", strip, {"python/demo/outer.py": PATCHED})
    assert engine.run("start", "--tree", tree).code == 0


def test_the_provider_side_needs_no_project(engine: Engine, tmp_path: Path) -> None:
    tree = engine.unpack("tree", "python/")
    options = ("--provider", "python/demo/outer.py:Outer", "--tree", tree)
    done = engine.run(*options, "--attr", "inner,start", cwd=tmp_path)
    assert done.code == 1
    assert [(each["name"], each["provided"]["how"]) for each in done.document["requirements"]] == [
        ("inner", "own"),
        ("start", "missing"),
    ]
    assert done.document["contract"] is None
    assert engine.run(*options, "--attr", "inner", cwd=tmp_path).code == 0


def test_another_provider(engine: Engine) -> None:
    done = engine.run("--provider", "python/demo/inner.py:Inner", "--pristine")
    assert done.code == 0 and done.document["requirements"][0]["provided"]["how"] == "own"


def test_explain(engine: Engine) -> None:
    done = engine.run("--explain", "start", text=True)
    assert done.code == 0
    assert "python/demo/user.py:4 Runner.__init__ calls it, always" in done.stdout
    assert "Outer passes it on to self.inner (python/demo/outer.py:8)." in done.stdout
    assert "Inner defines it itself" in done.stdout
    lacking = engine.run("--pristine", "--explain", "start")
    assert lacking.code == 1 and "It fails" in lacking.document["explained"]["start"][-1]
    assert engine.run("--explain", "nothing").code == 2


def test_over_releases(engine: Engine, made: Engine) -> None:
    copy = engine.root / "upstream-now"
    shutil.copytree(made.upstream, copy)
    engine.upstream = copy
    engine.release("v1.1", {"python/demo/user.py": USER + b"        self.model.run()\n"})
    moved = {"python/demo/user.py": None, "python/demo/user_v2.py": USER, "python/demo/outer.py": PATCHED}
    engine.release("v1.2", moved)
    series = engine.project / "series.yaml"
    series.write_text(series.read_text().replace(str(made.upstream), str(copy)))
    env = environment(PATCHCTL_CACHE=str(engine.root / "cache2"))
    done = patchctl("contract", "start", "--targets", "v1.0,v1.1,v1.2", cwd=engine.project, env=env)
    assert done.code == 1, done.words
    first, second, third = done.document["targets"]
    assert (first["holds"], first["patches"], first["moves"]) == (True, ["fit"], [])
    assert [(move["name"], move["change"]) for move in second["moves"]] == [("run", "added"), ("start", "lost")]
    assert third["faults"][0]["kind"] == "consumer-gone"
    assert "likely successor is python/demo/user_v2.py" in third["faults"][0]["message"]
    ranged = patchctl("contract", "start", "--targets", "v1.0..", cwd=engine.project, env=env)
    assert [step["target"] for step in ranged.document["targets"]] == ["v1.0", "v1.1", "v1.2"]


# The store


def asked(engine: Engine, tree: Path) -> dict[str, object]:
    return engine.run("start", "--tree", tree).document


def test_a_kept_answer_counts_while_nothing_changed(engine: Engine) -> None:
    tree = engine.unpack("tree", "", {**FILES, "python/demo/outer.py": PATCHED})
    fresh = asked(engine, tree)
    assert fresh["holds"] is True
    (entry,) = (engine.cache / "contract").glob("*.json")
    kept = json.loads(entry.read_text())
    assert "python/demo/user.py" in kept["body"]["files"]
    before = entry.read_bytes()
    assert asked(engine, tree) == fresh and entry.read_bytes() == before
    # A file that appears where one was looked for in vain, and one that changes, undo it.
    (tree / "demo").mkdir()
    (tree / "demo/inner.py").write_bytes(b"class Inner: pass\n")
    assert asked(engine, tree)["holds"] is False
    shutil.rmtree(tree / "demo")
    (tree / "python/demo/user.py").write_bytes(USER.replace(b"start", b"begin"))
    assert asked(engine, tree)["holds"] is False


@pytest.mark.parametrize("damage", ["truncate", "edit", "empty", "folder", "other"])
def test_a_damaged_store_is_worked_around(engine: Engine, damage: str) -> None:
    tree = engine.unpack("tree")
    fresh = asked(engine, tree)
    (entry,) = (engine.cache / "contract").glob("*.json")
    text = entry.read_text()
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    else:
        changed = {"truncate": text[:-9], "edit": text.replace("missing", "inherited"), "empty": "", "other": "[1]"}
        entry.write_text(changed[damage])
    assert asked(engine, tree) == fresh


def test_a_store_that_can_not_be_written(engine: Engine) -> None:
    tree = engine.unpack("tree")
    env = environment()  # /dev/null/cache
    assert patchctl("contract", "start", "--tree", tree, cwd=engine.project, env=env).code == 1


# Bad input


@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (("nope",), 2, "unknown-contract"),
        (("--provider", "nonsense"), 2, "usage"),
        (("--attr", "a"), 2, "usage"),
        (("start", "--attr", "not a name"), 2, "usage"),
        (("--target", "v1.0", "--targets", "v1.0.."), 2, "usage"),
        (("--tree", "."), 1, "no-provider"),
        (("--tree", ".", "--target", "v1.0"), 1, "consumer-gone"),
        (("--tree", "nowhere"), 2, "no-such-path"),
        (("--targets", "v8..v9"), 2, "unknown-target"),
        (("--targets", ",,"), 2, "usage"),
        (("--provider", "python/demo/no.py:No"), 1, "no-provider"),
        (("--provider", "python/demo/outer.py:No"), 1, "no-provider"),
    ],
)
def test_bad_input_is_told(engine: Engine, args: tuple[str, ...], code: int, kind: str) -> None:
    done = engine.run(*args)
    assert (done.code, kind in done.kinds) == (code, True), done.words
    assert done.document["ok"] is False


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"class Outer(:\n", "does not parse"), (b"\xff\xfe", "not UTF-8"), (b"x = 1\n", "no class Outer")],
)
def test_a_provider_that_can_not_be_read(engine: Engine, data: bytes, says: str) -> None:
    tree = engine.unpack("tree", "", {**FILES, "python/demo/outer.py": data})
    done = engine.run("start", "--tree", tree)
    assert done.code == 1 and done.kinds == ["no-provider"] and says in done.document["error"]["message"]
    asked = engine.run("--provider", "python/demo/outer.py:Outer", "--attr", "x", "--tree", tree)
    assert asked.code == 1 and asked.kinds == ["no-provider"]


def test_a_link_out_of_the_folder_is_not_followed(engine: Engine, tmp_path: Path) -> None:
    tree = engine.unpack("tree")
    (tmp_path / "outside.py").write_bytes(PATCHED)
    (tree / "python/demo/outer.py").unlink()
    (tree / "python/demo/outer.py").symlink_to(tmp_path / "outside.py")
    done = engine.run("start", "--tree", tree)
    assert done.code == 1 and done.kinds == ["no-provider"]


def test_a_role_that_nobody_holds(engine: Engine) -> None:
    engine.declare(CONTRACTS.replace("role: any", "role: draft").replace('when: "<2"', 'when: "<2", role: target'))
    done = engine.run()
    assert done.code == 1 and done.kinds == ["empty"]


def test_several_contracts(engine: Engine) -> None:
    engine.declare(CONTRACTS + CONTRACTS.replace("contracts:\n", "").replace("start:", "again:"))
    done = engine.run("--pristine")
    assert done.code == 1 and done.kinds == ["missing", "missing"]
    assert [each["contract"] for each in done.document["contracts"]] == ["start", "again"]
    assert engine.run("again").document["contract"] == "again"
    assert engine.run("--targets", "v1.0").code == 2


def test_no_contract_at_all(bench: Bench) -> None:
    done = bench.run("contract", env=bench.online)
    assert done.code == 2 and done.kinds == ["unknown-contract"]


def test_text_for_people(engine: Engine) -> None:
    done = engine.run("--pristine", text=True)
    assert done.code == 1
    assert "start: python/demo/outer.py:Outer on v1.0" in done.stdout
    assert "the series changes start: is offered now: missing -> delegated to self.inner" in done.stdout
    assert "2 attributes asked for, 1 of them can crash." in done.stdout
