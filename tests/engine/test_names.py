"""Which file names are safe: one test for each rule of the design's list."""

from __future__ import annotations

import pytest

from patchctl.engine import names


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        "python/sglang/srt/models/kimi_k25.py",
        ".github/workflows/x.yml",
        ".gitignore",
        ".gitattributes",
        "git/x",
        "legit~1x",
        "sub.git/config",
        "run b/tool.py",
        " lead",
        "trail ",
        "na\u00efve \u00e9.py",
        "caf\udce9.py",
        'quo"te.py',
        "a\tb.py",
        "-dash",
        "..x/y..",
        "...",
        "x" * 255,
    ],
)
def test_ordinary_names_are_safe(path: str) -> None:
    assert names.check(path) is None


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("", "missing"),
        ("../x", "outside"),
        ("a/../x", "outside"),
        ("a/..", "outside"),
        ("/etc/passwd", "absolute"),
        ("//host/share", "absolute"),
        ("C:/x", "drive letter"),
        ("c:x", "drive letter"),
        ("a\\b", "backslash"),
        ("..\\x", "backslash"),
        ("mod.py:x", "stream"),
        (".git::$INDEX_ALLOCATION/config", "stream"),
        (".git/config", "version control"),
        (".GIT/config", "version control"),
        ("sub/.Git", "version control"),
        (".g\u200cit/config", "version control"),
        ("\ufeff.git/x", "version control"),
        (".\u206agit/x", "version control"),
        ("git~1/config", "version control"),
        ("GIT~2", "version control"),
        (".git./x", "version control"),
        (".git /x", "version control"),
        (".git . ./x", "version control"),
        (".hg/hgrc", "version control"),
        (".HG", "version control"),
        ("a/.svn/entries", "version control"),
        (".\u017fvn/entries", "version control"),
        ("hg~1", "version control"),
        ("svn~1/x", "version control"),
        ("pkg//mod.py", "two spellings"),
        ("pkg/./mod.py", "two spellings"),
        ("./mod.py", "two spellings"),
        ("pkg/", "two spellings"),
        ("x\ny", "control character"),
        ("x\ry", "control character"),
        ("x\0y", "control character"),
        ("x\x1b[31m", "control character"),
        ("x\x7f", "control character"),
        ("x\u0085y", "control character"),
        ("x\u2028y", "control character"),
        ("x\u202egnp.py", "control character"),
        ("x" * 256, "longer"),
        ("\u00e9" * 128, "longer"),
        ("d/" * 2100 + "x", "longer"),
    ],
)
def test_unsafe_names_say_why(path: str, word: str) -> None:
    reason = names.check(path)
    assert reason is not None
    assert word in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    "path",
    [
        "x.pth",
        "sub/Evil.PTH",
        "sitecustomize.py",
        "SiteCustomize.py",
        "sitecustomize/__init__.py",
        "usercustomize.py",
        "sitecustomize.cpython-312-x86_64-linux-gnu.so",
        "sglang-0.5.9.dist-info/RECORD",
        "x.egg-info/PKG-INFO",
    ],
)
def test_files_that_python_or_pip_act_on_are_unsafe_when_installed(path: str) -> None:
    assert names.check(path) is None
    assert names.check_installed(path) is not None


def test_modules_are_safe_when_installed() -> None:
    assert names.check_installed("sglang/srt/path.py") is None
    assert names.check_installed("sglang/my_sitecustomize.py") is None


@pytest.mark.parametrize("target", [b"real.py", b"../other/x", b"./x", b"a/b", b"caf\xe9"])
def test_links_inside_the_tree(target: bytes) -> None:
    assert names.check_link("pkg/link", target) is None


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("up", b".."),
        ("pkg/up", b"../.."),
        ("pkg/up", b"a/../../../b/c/d"),
        ("x", b"/etc"),
        ("x", b""),
        ("x", b".git/hooks"),
        ("x", b"a\nb"),
        ("x", b"C:\\x"),
    ],
)
def test_links_out_of_the_tree(path: str, target: bytes) -> None:
    assert names.check_link(path, target) is not None


def test_strip_leaves_at_least_one_component() -> None:
    assert names.strip("a/b/c", 0) == "a/b/c"
    assert names.strip("a/b/c", 2) == "c"
    assert names.strip("a/b/c", 3) is None
    assert names.strip("a/", 1) is None


def test_a_link_may_not_climb_from_where_another_one_points() -> None:
    assert (
        names.check_link("l", b"a/..") and names.check_link("pkg/l", b"a/../b") and names.check_link("p/l", b"../a/..")
    )
