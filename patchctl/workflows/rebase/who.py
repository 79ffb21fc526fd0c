"""Who accepts something, and when: as git on this machine would say it."""

from __future__ import annotations

import getpass
import os
from datetime import date
from pathlib import Path

from patchctl.git import Git


def who(root: Path) -> str:
    """The user as git knows them in ``root`` (``Name <address>``), else the name of their account."""
    name = os.environ.get("GIT_AUTHOR_NAME") or _configured(root, "user.name")
    email = os.environ.get("GIT_AUTHOR_EMAIL") or _configured(root, "user.email")
    if name or email:
        return f"{name} <{email}>".strip() if name and email else name or email
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def today() -> str:
    """The date in ISO form."""
    return date.today().isoformat()


def _configured(root: Path, key: str) -> str:
    """The user's own setting, which git as patchctl runs it does not read otherwise."""
    own = os.environ.get("GIT_CONFIG_GLOBAL") or str(Path("~/.gitconfig").expanduser())
    said = Git(root).ask("config", "--get", key, env={"GIT_CONFIG_GLOBAL": own})
    return said.stdout.decode(errors="replace").strip() if said.returncode == 0 else ""
