"""Dates of mails as git records them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MAIL = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?(\d{1,2})\s+([A-Za-z]{3})[a-z]*\s+(\d{4})\s+"
    r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([-+]\d{4}|[A-Z]{1,4})?(?:\s*\([^)]*\))?"
)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?\s*([-+]\d{2}:?\d{2}|Z|UTC|GMT)?")


def raw(text: str) -> str | None:
    """git's raw form (``<seconds since 1970> <+hhmm>``) of a mail's (RFC 5322) or an ISO 8601 date.

    None for what is neither. A date without a zone is taken as UTC.
    """
    text = text.strip()
    if match := _MAIL.fullmatch(text):
        day, month, year, hour, minute, second, zone = match.groups()
        if month.lower() not in _MONTHS:
            return None
        parts = (int(year), _MONTHS.index(month.lower()) + 1, int(day))
    elif match := _ISO.fullmatch(text):
        year, month, day, hour, minute, second, zone = match.groups()
        parts = (int(year), int(month), int(day))
    else:
        return None
    zone = (zone or "").replace(":", "")
    if not re.fullmatch(r"[-+]\d{4}", zone):
        zone = "+0000"
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:]))
    if offset >= timedelta(days=1):
        return None
    try:
        when = datetime(
            *parts, int(hour), int(minute), int(second or 0), tzinfo=timezone(-offset if zone[0] == "-" else offset)
        )
    except ValueError:
        return None
    seconds = int((when - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds())
    return f"{seconds} {zone}" if seconds >= 0 else None


def mail_form(seconds: int, zone: str = "+0000") -> str:
    """The date of a mail: ``Tue, 6 Jan 2026 10:00:00 +0000``."""
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:]))
    when = datetime.fromtimestamp(seconds, timezone(-offset if zone[0] == "-" else offset))
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[when.weekday()]
    month = _MONTHS[when.month - 1].capitalize()
    return f"{day}, {when.day} {month} {when.year} {when:%H:%M:%S} {zone}"
