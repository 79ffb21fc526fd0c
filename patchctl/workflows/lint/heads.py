"""Rules about the heads of patch files."""

from __future__ import annotations

from collections.abc import Iterator

from patchctl.errors import InvalidInput
from patchctl.series import author, maildate, patchfile
from patchctl.series.model import UpstreamStatus
from patchctl.series.patchfile import PatchFile
from patchctl.workflows.lint.findings import Carried, Context, Finding


def header(context: Context) -> Iterator[Finding]:
    """Heads without a subject, an author, a date or a reason."""
    for carried in context.carried:
        if carried.head is None:
            continue
        mail = carried.head.mail
        name, address = author.parts(mail.author)
        if not mail.subject:
            yield carried.finding("header", "the head has no subject.", fixable=True)
        if not (name and address):
            said = (
                f"the author '{mail.author}' is not of the form Name <address>." if mail.author else "it has no From."
            )
            yield carried.finding("header", said, next="add a line From: Name <address> to its head")
        if maildate.raw(mail.date) is None:
            said = f"the date '{mail.date}' can't be read." if mail.date else "it has no Date."
            yield carried.finding("header", said, next="add a line Date: to its head")
        if not carried.head.why.strip():
            yield carried.finding("header", "the head does not say why the patch is needed.", fixable=True)


def upstream_status(context: Context) -> Iterator[Finding]:
    """Heads that do not say where the patch stands upstream, or say something else than series.yaml."""
    for carried in context.carried:
        if carried.head is not None:
            wanted = context.project.series.patches[carried.id].upstream
            for why in _status_faults(carried.head, wanted):
                yield carried.finding("upstream-status", why, fixable=True)


def _status_faults(head: PatchFile, wanted: UpstreamStatus) -> Iterator[str]:
    said = head.values("Upstream-Status")
    if not said:
        yield "the head has no trailer Upstream-Status."
        return
    word, _, rest = said[-1].partition(" ")
    if word.casefold() != wanted.status:
        yield f"the head says Upstream-Status: {word}, series.yaml says {wanted.status}."
    if wanted.url is not None and wanted.url not in (*head.values("Link"), rest.strip().strip("[]()<>")):
        yield f"the head has no trailer Link with series.yaml's url, {wanted.url}"


def portable_head(context: Context) -> Iterator[Finding]:
    """Heads that git am or quilt would read as something else."""
    for carried in context.carried:
        if carried.head is None or not carried.head.mail.subject:
            continue
        try:
            patchfile.render(carried.head)
        except InvalidInput as error:
            yield carried.finding("portable-head", error.problems[0].message)


def mended(carried: Carried, context: Context) -> bytes | None:
    """The patch file with what ``header`` and ``upstream_status`` can mend, None if nothing can be.

    The diff stays as it is, to the byte, and so do the other trailers.
    """
    head = carried.head
    if head is None or not head.diff or len(carried.patches) != 1:
        return None
    info = context.project.series.patches[carried.id]
    wrong = any(_status_faults(head, info.upstream))
    if head.mail.subject and head.why.strip() and not wrong:
        return None
    trailers = head.trailers
    if wrong:
        ours = patchfile.upstream_trailers(info.upstream.status, info.upstream.url)
        kept = (trailer for trailer in trailers if trailer[0].casefold() != "upstream-status" and trailer not in ours)
        trailers = (*kept, *ours)
    new = patchfile.compose(
        head.mail.author,
        head.mail.date,
        head.mail.subject or info.title.strip(),
        head.why if head.why.strip() else info.why,
        trailers,
        head.diff,
        head.stat,
    )
    try:
        return patchfile.render(new)
    except InvalidInput:
        return None
