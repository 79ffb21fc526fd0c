"""Merging what a patch did to a file with what upstream did to it: bytes in, bytes and verdicts out."""
