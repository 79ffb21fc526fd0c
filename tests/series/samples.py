"""A small valid series.yaml that the tests change in one place each."""

SERIES = """\
version: 1
default: v1.1  # the one in production
upstream:
  name: thing
  git: https://example.org/thing.git
  layout: {"python/thing/": "thing/"}

targets:
  # the old one
  v1.0:
    pin: {commit: "1111111111111111111111111111111111111111"}
    patches: [fix-a]
  v1.1:
    pin:
      commit: "2222222222222222222222222222222222222222"
    patches:
      - fix-a   # needs to come first
      # on top of it
      - fix-b
    dropped:
      old-one: {reason: upstreamed, evidence: "commit abc", by: rebase, from: v1.0}

patches:
  fix-a:
    title: Fix a
    why: it is broken
    owner: team
    upstream: {status: pending}
  fix-b:
    title: Fix b
    why: >
      it is broken, too,
      and nobody noticed
    owner: team
    upstream:
      status: submitted
      url: "https://example.org/pull/2"
    drop_when: ">=1.2"
    expires: "2027-06-30"
    requires: {numpy: ">=1.2"}
    contracts: [thing-target]
    smoke: [runs]

contracts:
  thing-target:
    role: target
    provider: "thing/a.py:Thing"
    consumers:
      - {in: thing/b.py, object: self.x, when: "<2"}

verify:
  references: {speed: 9.5}
  checks:
    runs:
      level: smoke
      run: "ci/test_it.py::test_it"
      proves: it runs
      limits: {seconds: 10, accept_length: [1, 2.5]}
      needs: {weights: false}
      teeth: {without: [fix-b], mutants: [broken]}
  mutants: {broken: {patch: ci/broken.patch, on: [v1.1]}}
"""


def changed(old: str, new: str) -> bytes:
    """SERIES with the one place ``old`` replaced."""
    assert SERIES.count(old) == 1, f"{old!r} stands {SERIES.count(old)} times in the sample"
    return SERIES.replace(old, new).encode()
