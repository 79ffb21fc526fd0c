"""Releases from a package index: which archive is taken, what is proved, and what is said when it is not there."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from patchctl.engine.model import EXECUTABLE, REGULAR
from patchctl.errors import EnvironmentFailed, Refused
from patchctl.series import project as projects
from patchctl.upstream import gitsource
from patchctl.upstream import index as indexes
from patchctl.upstream.pipconfig import IndexSettings
from patchctl.upstream.pristine import open_tree
from tests.upstream import releases
from tests.upstream.common import SOURCES, UNPINNED, pins, project, refs
from tests.upstream.releases import Index


def test_a_source_archive(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        tree = open_tree(it, None)
        assert (tree.source, tree.archive, tree.pinned, tree.fresh) == ("pypi", "demo-1.0.tar.gz", True, True)
        asked = len(index.asked)
        again = open_tree(it, None)
        assert len(index.asked) == asked, "what is in the cache needs no network"
    assert again.commit == tree.commit and not again.fresh
    assert set(tree.names()) == SOURCES
    found = tree.read(["python/demo/tool.py", "python/demo/core.py", "python/demo/nothing", "new/x"])
    assert {path: state and state.mode for path, state in found.items()} == {
        "python/demo/tool.py": EXECUTABLE,
        "python/demo/core.py": REGULAR,
        "python/demo/nothing": None,
        "new/x": None,
    }
    assert refs(tree) == {"refs/upstream/pypi/v1.0": tree.commit}


def test_it_works_offline_once_filled(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), git="https://localhost:1/demo.git", pypi="demo")
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    tree = open_tree(it, None)
    assert tree.source == "pypi" and "localhost" in tree.notes[0], "it says that git could not be reached"

    def fail(*args: object, **options: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(gitsource, "_transfer", fail)
    shutil.rmtree(dist)
    assert open_tree(it, None).commit == tree.commit
    assert open_tree(it, None, "pypi").commit == tree.commit


def test_the_wheel_when_only_wheels_are_pinned(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", dist.as_uri())
    monkeypatch.setenv("PIP_NO_INDEX", "true")
    tree = open_tree(project(tmp_path, pins(dist, "wheels"), pypi="demo"), None)
    assert tree.archive == "demo-1.0-py3-none-any.whl" and not tree.modes
    assert set(tree.names()) == {name for name in SOURCES if name.startswith("python/demo/")}


def test_the_wheel_when_there_is_no_source_archive(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    (dist / "demo-1.0.tar.gz").unlink()
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        assert open_tree(it, None).archive == "demo-1.0-py3-none-any.whl"


def test_a_folder_in_the_form_of_an_index(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "simple" / "demo"
    page.mkdir(parents=True)
    (page / "index.html").write_text('<a href="../../dist/demo-1.0.tar.gz">demo-1.0.tar.gz</a>')
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert open_tree(project(tmp_path, pins(dist), pypi="demo"), None).archive == "demo-1.0.tar.gz"


def test_the_extra_index_is_asked_too(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    with Index(tmp_path / "empty", status=500) as broken, Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", broken.url)
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url)
        monkeypatch.setenv("PIP_RETRIES", "0")
        assert open_tree(project(tmp_path, pins(dist), pypi="demo"), None).pinned


@pytest.mark.parametrize("stated", ["true", "none"])
@pytest.mark.parametrize("kind", ["tampered", "pin"])
def test_other_bytes_are_refused(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, stated: str, kind: str, machine: Path
) -> None:
    """A tampered archive, or a wrong pin: whether the index states a hash or not."""
    name = "demo-1.0.tar.gz"
    index = Index(dist, stated={} if stated == "true" else {name: ""})
    pin = pins(dist)
    if kind == "tampered":
        (tmp_path / "other").mkdir()
        other = releases.sdist(tmp_path / "other", change={"demo/evil.py": (0o644, b"import os\n")})
        index.served[name] = other.read_bytes()
    else:
        pin = pin.replace(releases.sha256(dist / name), "ab" * 32)
    it = project(tmp_path, pin, pypi="demo")
    with index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(Refused) as caught:
            open_tree(it, None)
    assert caught.value.problems[0].kind == "integrity" and caught.value.problems[0].file == name
    assert not [entry for entry in machine.rglob("*") if entry.name in ("fetching", name) or entry.suffix == ".new"]
    for cache in machine.glob("*.git"):
        assert (
            releases.git(cache, "for-each-ref") == ""
            and releases.git(cache, "count-objects") == "0 objects, 0 kilobytes"
        )


def test_a_wrong_hash_on_the_index_is_refused(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(dist, stated={"demo-1.0.tar.gz": "cd" * 32}) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        for pin in (pins(dist), UNPINNED):
            with pytest.raises(Refused):
                open_tree(project(tmp_path, pin, pypi="demo"), None)


def test_a_release_that_is_not_there(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    for file in dist.iterdir():
        file.rename(file.with_name(file.name.replace("1.0", "2.0")))
    with Index(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed, match=r"no release 1\.0 of demo") as caught:
            open_tree(it, None)
    assert caught.value.problems[0].next


@pytest.mark.parametrize("status", [404, 403, 500])
def test_an_index_that_says_no(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("PIP_RETRIES", "0")
    with Index(dist, status=status) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed, match="no project" if status == 404 else str(status)):
            open_tree(project(tmp_path, pins(dist), pypi="demo"), None)


def test_an_index_that_can_not_be_reached(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index(dist) as index:
        url = index.url
    monkeypatch.setenv("PIP_INDEX_URL", url.replace("//", "//me:secret@"))
    with pytest.raises(EnvironmentFailed, match="can't be reached") as caught:
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None)
    said = caught.value.problems[0].message
    assert "secret" not in said and "PIP_INDEX_URL" in said and "refused" in said


def test_a_login_is_used_and_not_shown(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = project(tmp_path, pins(dist), pypi="demo")
    with Index(dist, login="me:s3/cret") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:wrong@"))
        with pytest.raises(EnvironmentFailed, match="401") as caught:
            open_tree(it, None)
        assert "wrong" not in str(caught.value)
        monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//me:s3%2Fcret@"))
        assert open_tree(it, None).pinned


def test_plain_http_needs_trust(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    with pytest.raises(EnvironmentFailed, match="trusted"):
        open_tree(project(tmp_path, pins(dist), pypi="demo"), None)


def test_another_recipe_is_another_tree(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    it = project(tmp_path, pins(dist), pypi="demo")
    open_tree(it, None)
    it.series_path.write_text(it.series_path.read_text().replace("setup.cfg, ", ""))
    assert "python/setup.cfg" in open_tree(projects.load(it.root), None).names()


def test_a_pin_that_changes_later_is_enforced(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(dist))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    open_tree(project(tmp_path, pins(dist), pypi="demo"), None)
    with pytest.raises(Refused):
        open_tree(project(tmp_path, f'sdist: "sha256:{"ab" * 32}"', pypi="demo"), None)


class Odd(Index):
    """An index whose page is ``page``, and that answers for the file with the fields of ``extra`` as well."""

    page = b'<a href="x.tar.gz">demo-1.0.tar.gz</a>'
    kind = "text/html"
    extra: Mapping[str, str] = MappingProxyType({})
    code = 200

    def answer(self, path: str, authorization: str | None) -> tuple[int, str, bytes]:
        if path.endswith("/demo/"):
            return 200, self.kind, self.page
        fields = "".join(f"\r\n{name}: {value}" for name, value in self.extra.items())
        return self.code, f"application/x-tar{fields}", (self.folder / "demo-1.0.tar.gz").read_bytes()


def odd(dist: Path, **changes: object) -> Odd:
    index = Odd(dist)
    for name, value in changes.items():
        setattr(index, name, value)
    return index


JSON = "application/vnd.pypi.simple.v1+json"
ANSWERS: list[tuple[str, bytes]] = [
    (JSON, b"{"),
    (JSON, b"[]"),
    (JSON, b"[" * 100_000),
    (JSON, b'{"meta":{"api-version":"9.0"},"name":"demo","files":[]}'),
    (JSON, b'{"meta":{"api-version":"1.0"},"name":"demo","files":[{"filename":5}]}'),
    ("text/html", b'<meta name="pypi:repository-version" content="7.0"><a href=x>demo-1.0.tar.gz</a>'),
    ("text/html", b'<a href="http://[::1">demo-1.0.tar.gz</a>'),
    ("text/html", b'<a href="http://a..b/x">demo-1.0.tar.gz</a>'),
    ("text/html", b'<a href="file:///etc/passwd">demo-1.0.tar.gz</a>'),
    ("text/html", b'<a href="file:///dev/zero">demo-1.0.tar.gz</a>'),
    ("text/html", b"\x00\xff garbage"),
    ("image/png", b"garbage"),
]


@pytest.mark.parametrize(("kind", "page"), ANSWERS)
def test_an_index_that_answers_garbage(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, kind: str, page: bytes
) -> None:
    with odd(dist, kind=kind, page=page) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed) as caught:
            open_tree(project(tmp_path, pins(dist), pypi="demo"), None)
    assert {problem.kind for problem in caught.value.problems} <= {"network", "no-release"}


def test_a_page_without_end(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "MAX_PAGE", 1 << 16)
    with odd(dist, page=Odd.page * 4096) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed, match="MiB for one page"):
            open_tree(project(tmp_path, pins(dist), pypi="demo"), None)


def test_an_archive_without_end(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "MAX_ARCHIVE", 64)
    with odd(dist) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(Refused, match="never ends"):
            open_tree(project(tmp_path, pins(dist), pypi="demo"), None)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://[::1/", "http://a..b/"])
def test_a_redirect_to_where_no_index_has_business(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    with odd(dist, code=302, extra={"Location": target}) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        with pytest.raises(EnvironmentFailed) as caught:
            open_tree(project(tmp_path, pins(dist), pypi="demo"), None)
    assert caught.value.problems[0].kind == "network"


@pytest.mark.parametrize(
    ("page", "url", "fine"),
    [
        ("https://a/", "https://b/x", True),
        ("https://a/", "http://b/x", False),
        ("https://a/", "http://trusted.example/x", True),
        ("http://trusted.example/", "http://b/x", True),
        ("https://a/", "file:///x", False),
        ("file:///a/", "file:///x", True),
        ("file:///a/", "https://b/x", True),
    ],
)
def test_where_a_page_may_lead(page: str, url: str, fine: bool) -> None:
    assert indexes._leads(page, url, IndexSettings(trusted_hosts=("trusted.example",))) is fine


def test_what_a_server_takes_for_its_own_compression(
    tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with odd(dist, extra={"Content-Encoding": "gzip"}) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        assert open_tree(project(tmp_path, pins(dist), pypi="demo"), None).pinned


def test_a_hash_that_can_not_be_compared_is_not(tmp_path: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with odd(dist, page=b'<a href="x#shake_128=00">demo-1.0.tar.gz</a>') as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        assert open_tree(project(tmp_path, pins(dist), pypi="demo"), None).pinned
