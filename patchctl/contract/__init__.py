"""What code silently expects of an object, and whether a class offers it; read from source text alone.

Texts in, verdicts out: nothing is imported or run, no file is opened, nothing is printed. The sources come from
whoever calls, through :class:`patchctl.contract.syntax.Source`.
"""
