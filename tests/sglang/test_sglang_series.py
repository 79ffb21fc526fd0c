"""The committed series agrees with itself: patch files, series.yaml, notices."""

from __future__ import annotations

import email
import re
from pathlib import Path

import pytest
from engine_source import PROJECT, SERIES, TAGS

FILES = [(tag, patch) for tag in TAGS for patch in SERIES["targets"][tag]["patches"]]


def mail(tag: str, patch: str) -> str:
    return (PROJECT / "patches" / tag / f"{patch}.patch").read_text(encoding="utf-8")


def touched(text: str) -> list[str]:
    return re.findall(r"^diff --git a/(\S+) b/\1$", text, re.MULTILINE)


@pytest.mark.parametrize("tag", TAGS)
def test_every_patch_file_is_listed_and_there(tag: str) -> None:
    there = {path.stem for path in (PROJECT / "patches" / tag).iterdir()}
    assert there == set(SERIES["targets"][tag]["patches"])


@pytest.mark.parametrize(("tag", "patch"), FILES)
def test_headers_say_what_series_yaml_says(tag: str, patch: str) -> None:
    entry = SERIES["patches"][patch]
    message = email.message_from_string(mail(tag, patch))
    body = message.get_payload()
    assert isinstance(body, str)
    trailers = re.findall(r"^(Upstream-Status|Link): (.*)$", body, re.MULTILINE)
    expected = [("Upstream-Status", entry["upstream"]["status"])]
    if "url" in entry["upstream"]:
        expected.append(("Link", entry["upstream"]["url"]))
    assert message["Subject"] == f"[PATCH] {entry['title']}"
    assert trailers == expected
    assert len(body.partition("\nUpstream-Status:")[0].split()) > 30, "the body says why"


@pytest.mark.parametrize(("tag", "patch"), FILES)
def test_form_is_that_of_a_mail_without_traces_of_a_machine(tag: str, patch: str) -> None:
    text = mail(tag, patch)
    assert text.startswith("From " + "0" * 40 + " Mon Sep 17 00:00:00 2001\n")
    assert not text.rstrip("\n").rpartition("\n")[0].endswith("\n-- "), "a git version signs it"
    indexes = re.findall(r"^index (\S+)", text, re.MULTILINE)
    assert len(indexes) == len(touched(text))
    assert all(re.fullmatch(r"[0-9a-f]{40}\.\.[0-9a-f]{40}", index) for index in indexes)


@pytest.mark.parametrize("tag", TAGS)
def test_no_two_patches_touch_a_file_so_each_can_go_alone(tag: str) -> None:
    paths = [path for patch in SERIES["targets"][tag]["patches"] for path in touched(mail(tag, patch))]
    assert len(paths) == len(set(paths))
    assert all(path.startswith("python/sglang/") for path in paths), "a wheel carries them all"


def test_every_entry_is_used_and_complete() -> None:
    used = {patch for _, patch in FILES}
    assert set(SERIES["patches"]) == used
    for entry in SERIES["patches"].values():
        assert {"title", "why", "owner", "upstream", "drop_when", "expires"} <= set(entry)
        assert set(entry.get("contracts", [])) <= set(SERIES["contracts"])
        assert set(entry.get("smoke", [])) <= set(SERIES["verify"].get("checks", {}))


def test_notice_names_sglang() -> None:
    notice = Path(PROJECT / "NOTICE").read_text(encoding="utf-8")
    assert "SGLang Team" in notice
    assert "Apache License" in notice
