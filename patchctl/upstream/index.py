"""Asking package indexes for archives, and fetching them.

An index is a simple repository (PEP 503 and 691) behind https, or a folder in the same form; ``find-links``
may also be a plain folder of archives or a page with links. pypi-simple reads the pages; it and requests are
imported by this module alone, and this module only when something has to be fetched.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import ssl
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import pypi_simple
import requests
from packaging.version import InvalidVersion, Version
from pypi_simple.html import Link, RepositoryPage
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.utils import get_netrc_auth
from urllib3.exceptions import HTTPError
from urllib3.util.retry import Retry

from patchctl.errors import EnvironmentFailed, Problem, Refused
from patchctl.upstream.pipconfig import IndexSettings
from patchctl.upstream.urls import redact

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage

# A host that swallows packets must not hold anybody for minutes, whatever pip's timeout for slow answers is.
_CONNECT_SECONDS = 10.0
_CHUNK = 1 << 16
# Far above any project's page and any archive that is taken; a server may go on sending for ever.
MAX_PAGE = 32 << 20
MAX_ARCHIVE = 4 << 30
# What a server can make of a request: requests passes some of urllib3's faults, and Python's own, on as they are.
_FAULTS = (requests.RequestException, HTTPError, OSError, ValueError, RecursionError)
# With these a file is compared; an index may name others, whose digests have no length of their own.
_HASHES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s")
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|\[?::1\]?")


@dataclass(frozen=True, slots=True)
class Archive:
    """A file that an index offers: ``sdist`` or ``wheel``, its version, and the hash the index states (hex)."""

    filename: str
    kind: str
    version: Version
    sha256: str | None
    package: DistributionPackage


@dataclass(frozen=True, slots=True)
class Offer:
    """What the indexes together have, in pip's order, and what went wrong on the way."""

    archives: tuple[Archive, ...]
    asked: tuple[str, ...]
    failures: tuple[str, ...]


class Indexes:
    """The indexes of the user's settings; a context manager, since it holds connections."""

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings
        self._logins = _Logins()
        self._session = _session(settings, self._logins)
        self._timeout = (min(settings.timeout, _CONNECT_SECONDS), settings.timeout)

    def __enter__(self) -> Indexes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def offer(self, project: str, version: Version) -> Offer:
        """All that the user's indexes have of ``version`` of ``project``. An index that fails raises nothing here."""
        archives: list[Archive] = []
        asked: list[str] = []
        failures: list[str] = []
        for name, ask in self._places(project):
            shown = redact(name)
            asked.append(shown)
            try:
                archives += _of_version(ask(), version)
            except pypi_simple.NoSuchProjectError:
                failures.append(f"{shown} has no project {project}")
            except (*_FAULTS, pypi_simple.UnsupportedRepoVersionError) as error:
                failures.append(f"{shown}: {_why(error)}")
        return Offer(tuple(archives), tuple(asked), tuple(failures))

    def releases(self, project: str) -> tuple[list[Version], tuple[str, ...]]:
        """The versions of ``project`` that no index has yanked, in no order, and what went wrong on the way."""
        found: dict[Version, None] = {}
        failures: list[str] = []
        for name, ask in self._places(project):
            try:
                found.update(dict.fromkeys(_versions(ask())))
            except pypi_simple.NoSuchProjectError:
                failures.append(f"{redact(name)} has no project {project}")
            except (requests.RequestException, OSError, ValueError) as error:
                failures.append(f"{redact(name)}: {_why(error)}")
        return list(found), tuple(failures)

    def fetch(self, archive: Archive, into: Path, show: Callable[[int, int | None], None]) -> str:
        """Download ``archive`` to the file ``into``; returns its sha256 (hex). ``show`` gets bytes done and total.

        Raises Refused when the bytes are not those that the index announces, EnvironmentFailed when it can't be had.
        """
        package = archive.package
        digest = hashlib.sha256()
        stated = {name: hashlib.new(name) for name in package.digests if name in _HASHES}
        try:
            # The file as it lies there: a server may take its own compression for one of the way.
            asked = {"Accept-Encoding": "identity"}
            answer = self._session.get(package.url, stream=True, timeout=self._timeout, headers=asked)
            with answer as response, into.open("wb") as file:
                response.raise_for_status()
                length = response.headers.get("Content-Length", "")
                total = int(length) if length.isdecimal() else package.size
                done = 0
                for chunk in _pieces(response):
                    done += len(chunk)
                    if done > MAX_ARCHIVE:
                        raise Refused(Problem("unsafe-archive", f"{archive.filename} never ends.", archive.filename))
                    file.write(chunk)
                    for each in (digest, *stated.values()):
                        each.update(chunk)
                    show(done, total)
        except _FAULTS as error:
            if isinstance(error, OSError) and not isinstance(error, requests.RequestException) and error.errno:
                raise
            why = f"{archive.filename} can't be fetched from {redact(package.url)}: {_why(error)}."
            raise EnvironmentFailed(Problem("network", why)) from None
        for name, found in stated.items():
            if found.hexdigest() != package.digests[name].lower():
                why = (
                    f"{archive.filename} is not the file that its index announces ({name} {found.hexdigest()}, "
                    f"announced {package.digests[name]})."
                )
                raise Refused(Problem("integrity", why, file=archive.filename))
        return digest.hexdigest()

    def _places(self, project: str) -> Iterator[tuple[str, Callable[[], Iterable[DistributionPackage]]]]:
        for place in self._settings.find_links:
            yield place, lambda place=place: self._links(place, project)  # type: ignore[misc]
        if self._settings.no_index:
            return
        first = self._settings.index_url or pypi_simple.PYPI_SIMPLE_ENDPOINT
        for url in dict.fromkeys((first, *self._settings.extra_index_urls)):
            yield url, lambda url=url: self._page(url, project)  # type: ignore[misc]

    def _page(self, url: str, project: str) -> list[DistributionPackage]:
        bare = self._bare(url if "://" in url else Path(url).absolute().as_uri())
        client = pypi_simple.PyPISimple(bare, session=self._session)
        return self._reachable(client.get_project_page(project, timeout=self._timeout).packages, bare)

    def _links(self, place: str, project: str) -> list[DistributionPackage]:
        path = Path(unquote(urlsplit(place).path)) if place.startswith("file:") else Path(os.path.expanduser(place))  # noqa: PTH111
        if "://" not in place or place.startswith("file:"):
            if path.is_dir():
                files = sorted(entry for entry in path.iterdir() if entry.is_file())
                links = [Link(file.name, file.absolute().as_uri(), {}) for file in files]
                return [pypi_simple.DistributionPackage.from_link(link, project) for link in links]
            place = path.absolute().as_uri()
        url = self._bare(place)
        response = self._session.get(url, timeout=self._timeout, headers={"Accept": "text/html"})
        response.raise_for_status()
        page = RepositoryPage.from_html(response.content, base_url=response.url)
        packages = (pypi_simple.DistributionPackage.from_link(link, project) for link in page.links)
        return self._reachable(packages, url)

    def _bare(self, url: str) -> str:
        """``url`` without its login, which is kept for that host."""
        if urlsplit(url).scheme == "http" and not _trusted(url, self._settings):
            raise ValueError("it is neither https nor one of pip's trusted hosts, so nothing is taken from it")
        return self._logins.take(url)

    def _reachable(self, packages: Iterable[DistributionPackage], page: str) -> list[DistributionPackage]:
        """Those of ``packages`` that lie where the page at ``page`` may send anybody."""
        found = []
        for package in packages:
            if _leads(page, package.url, self._settings):
                package.url = self._logins.take(package.url)
                found.append(package)
        return found


class _Logins(requests.auth.AuthBase):
    """Names and passwords that stood in URLs, kept apart from them and sent to their own host only."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, str]] = {}

    def take(self, url: str) -> str:
        """``url`` without name and password, which are remembered."""
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        if not at:
            return url
        name, _, password = user.partition(":")
        self._known.setdefault((parts.scheme, host), (unquote(name), unquote(password)))
        return urlunsplit(parts._replace(netloc=host))

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        parts = urlsplit(request.url or "")
        login = self._known.get((parts.scheme, parts.netloc)) or get_netrc_auth(request.url or "")
        if login:
            return requests.auth.HTTPBasicAuth(*login)(request)
        return request


def _trusted(url: str, settings: IndexSettings) -> bool:
    """Whether pip's settings trust the host of ``url``, or it is this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    trusted = {entry.rpartition(":")[0] or entry for entry in settings.trusted_hosts} | set(settings.trusted_hosts)
    return host in trusted or f"{host}:{parts.port}" in trusted or bool(_LOOPBACK.fullmatch(host))


def _leads(page: str, url: str, settings: IndexSettings) -> bool:
    """Whether a link or a redirect at ``page`` may lead to ``url``: never from https into the clear, and to this
    machine's files only from these."""
    origin, scheme = urlsplit(page).scheme, urlsplit(url).scheme
    if scheme == "http":
        return origin != "https" or _trusted(url, settings)
    return scheme == "https" or scheme == origin == "file"


class _Session(requests.Session):
    """Reads no endless page, and is not sent to places where an index has no business."""

    def __init__(self, settings: IndexSettings) -> None:
        super().__init__()
        self._settings = settings
        self.hooks["response"].append(_bounded)

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None and not _leads(resp.url, urljoin(resp.url, target), self._settings):
            raise requests.exceptions.InvalidURL(f"it sends to {redact(target)}, from where nothing is taken")
        return target


def _bounded(response: requests.Response, *args: Any, **options: Any) -> None:
    """Read a page here, where its size is watched; what is streamed is watched by whoever reads it."""
    if options.get("stream"):
        return
    body = bytearray()
    for chunk in response.iter_content(_CHUNK):
        body += chunk
        if len(body) > MAX_PAGE:
            response.close()
            raise requests.exceptions.ContentDecodingError(f"it sends more than {MAX_PAGE >> 20} MiB for one page")
    response._content = bytes(body)


def _pieces(response: requests.Response) -> Iterator[bytes]:
    """The body as it was sent; what the server calls an encoding is the file's own."""
    stream = getattr(response.raw, "stream", None)
    return response.iter_content(_CHUNK) if stream is None else stream(_CHUNK, decode_content=False)


def _session(settings: IndexSettings, logins: _Logins) -> requests.Session:
    session = _Session(settings)
    session.headers["User-Agent"] = pypi_simple.client.USER_AGENT
    session.auth = logins
    if settings.cert:
        session.verify = settings.cert
    session.cert = settings.client_cert
    if settings.proxy:
        session.proxies = {"http": settings.proxy, "https": settings.proxy}
    # Which host answers at all shows at once; only answers are worth asking for again.
    retries = Retry(
        total=settings.retries,
        connect=min(settings.retries, 1),
        backoff_factor=0.25,
        status_forcelist=(500, 502, 503, 520, 524, 527),
        raise_on_status=False,
    )
    session.mount("https://", _SystemTrust(max_retries=retries))
    session.mount("http://", HTTPAdapter(max_retries=retries))
    for host in settings.trusted_hosts:
        session.mount(f"https://{host}/", _NoTrust(max_retries=retries))
        if ":" not in host:
            session.mount(f"https://{host}:", _NoTrust(max_retries=retries))
    session.mount("file://", _Files())
    return session


class _SystemTrust(HTTPAdapter):
    """Trusts the machine's certificates besides the bundled ones, as pip does."""

    def init_poolmanager(self, *args: Any, **options: Any) -> Any:
        return super().init_poolmanager(*args, ssl_context=ssl.create_default_context(), **options)


class _NoTrust(HTTPAdapter):
    """Asks no certificate of a host that pip's ``trusted-host`` names."""

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        super().cert_verify(conn, url, verify=False, cert=cert)


class _Files(BaseAdapter):
    """file:// for an index that lies in a folder; a folder stands for the index.html in it."""

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        path = Path(unquote(urlsplit(request.url or "").path))
        response = requests.Response()
        response.url, response.request = request.url or "", request
        response.raw = io.BytesIO()
        if path.is_dir():
            path /= "index.html"
        try:
            response.raw = path.open("rb")
            response.status_code = 200
            response.headers["Content-Length"] = str(os.fstat(response.raw.fileno()).st_size)
        except FileNotFoundError:
            response.status_code, response.reason = 404, "no such file"
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        return response

    def close(self) -> None:
        """Nothing is held open."""


def _of_version(packages: Iterable[DistributionPackage], version: Version) -> Iterator[Archive]:
    for package in packages:
        if package.package_type not in ("sdist", "wheel") or package.version is None:
            continue
        try:
            found = Version(package.version)
        except InvalidVersion:
            continue
        if found == version:
            stated = package.digests.get("sha256")
            yield Archive(package.filename, package.package_type, found, stated and stated.lower(), package)


def _versions(packages: Iterable[DistributionPackage]) -> Iterator[Version]:
    for package in packages:
        if package.package_type in ("sdist", "wheel") and package.version is not None and not package.is_yanked:
            try:
                yield Version(package.version)
            except InvalidVersion:
                continue


def _why(error: Exception) -> str:
    """What went wrong, short: the innermost reason of a chain of wrapped errors, with no login in it."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"it answered {error.response.status_code} {error.response.reason or ''}".rstrip()
    if isinstance(error, requests.exceptions.SSLError):
        return f"its certificate is not trusted ({_innermost(error)}); PIP_CERT names one to trust"
    if isinstance(error, requests.Timeout):
        return "it does not answer in time"
    if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.ContentDecodingError)):
        return redact(str(error))[:200]
    if isinstance(error, RecursionError):
        return "its page is nested too deeply"
    if isinstance(error, (requests.RequestException, HTTPError)):
        return f"it can't be reached ({_innermost(error)})"
    # A page that can't be read is told of at length, and quoted.
    return redact(str(error)).partition("\n")[0][:200] or "its answer can't be read"


def _innermost(error: BaseException) -> str:
    while True:
        inner = getattr(error, "reason", None) or next((a for a in error.args if isinstance(a, BaseException)), None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    text = redact(str(error))
    return re.sub(r"^.*?>: |^\w+\([^)]*\): ", "", text)[:200]
