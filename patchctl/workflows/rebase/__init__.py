"""``rebase``: moving a series from one release to another.

:mod:`~patchctl.workflows.rebase.run` holds the commands. Each takes the decisions made so far
(:mod:`~patchctl.workflows.rebase.state`), plans anew (:mod:`~patchctl.workflows.rebase.plan`, on what
:mod:`~patchctl.workflows.rebase.ground` has opened), and either lays the open conflicts out for a person
(:mod:`~patchctl.workflows.rebase.conflicts`) or writes everything in one transaction
(:mod:`~patchctl.workflows.rebase.finish`).
"""
