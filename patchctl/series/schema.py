"""The JSON schema of series.yaml, for editors.

An editor with a YAML language server takes it by a comment in the first line of series.yaml:
``# yaml-language-server: $schema=series.schema.json``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from patchctl.series import model

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# Struct.key -> what an editor shows for the key.
DESCRIPTIONS = {
    "Series.version": "The version of this file's format.",
    "Series.default": "The target that commands use when none is named; without it the newest by version.",
    "Series.upstream": "What is patched, and where its releases come from.",
    "Series.targets": "The releases that are patched, by tag.",
    "Series.patches": "What is known of each patch, by id.",
    "Series.contracts": "What the engine's code expects of a class without saying so, by name.",
    "Series.verify": "How a patched target is proved to work.",
    "Series.hosts": "Machines that checks run on, by name.",
    "Upstream.name": "The name to call it by; build folders and the cache carry it.",
    "Upstream.git": "The address of its git repository (https, ssh, git or file).",
    "Upstream.pypi": "The name of its package on the Python index.",
    "Upstream.tag": "How a tag is made of a version; {version} stands for the version (PEP 440).",
    "Upstream.sdist": "How a source archive relates to the repository.",
    "Upstream.layout": "Which folders of the repository are installed where below site-packages: prefix to prefix.",
    "Sdist.root": "The folder of the repository that the archive's top folder is, ending in '/'.",
    "Sdist.drop": "Files of the archive that the repository does not have (generated), as patterns.",
    "Target.pin": "What the release must be; each source is held to its own pin.",
    "Target.patches": "The ids of the patches, in the order they are applied.",
    "Target.dropped": "Patches that an earlier target had and this one no longer needs, and why.",
    "Pin.sdist": "The sha256 of the source archive.",
    "Pin.wheels": "The sha256 of each wheel that may be found.",
    "Pin.commit": "The id of the commit that the tag stands for.",
    "Dropped.reason": "Why it is no longer carried.",
    "Dropped.evidence": "What shows that the reason holds.",
    "Dropped.by": "Who or what dropped it.",
    "Dropped.from": "The target that had it.",
    "PatchInfo.title": "What the patch does, in one line.",
    "PatchInfo.why": "Why it is needed.",
    "PatchInfo.owner": "Who answers for it.",
    "PatchInfo.upstream": "Where it stands upstream.",
    "PatchInfo.drop_when": "When it can go: a version specifier that lint checks, or a sentence.",
    "PatchInfo.expires": "The day by which somebody must look at it again (quoted, YYYY-MM-DD).",
    "PatchInfo.requires": "Packages that must be there for it to work: name to version specifier.",
    "PatchInfo.contracts": "The contracts that it fulfils.",
    "PatchInfo.smoke": "The checks that show it works.",
    "UpstreamStatus.status": "pending, submitted, accepted, backport, denied or inappropriate.",
    "UpstreamStatus.url": "Where to read about it; needed unless pending or inappropriate.",
    "Contract.role": "Which model the object is: target, draft, or any of the two.",
    "Contract.provider": "The class that must offer what is used, as FILE:CLASS.",
    "Contract.assume": "What expressions of the provider are: expression to FILE:CLASS.",
    "Contract.consumers": "The code that uses the object.",
    "Contract.ignore": "Attributes that may be missing: name to reason.",
    "Consumer.in": "FILE, FILE:CLASS, FILE:FUNCTION or FOLDER/.",
    "Consumer.object": "The expression or parameter that holds the object there.",
    "Consumer.role": "The role of the object there, if it is not the contract's.",
    "Consumer.when": "The versions that have this code, as a specifier.",
    "Verify.pins": "The versions of the stack that is verified: package to version or specifier.",
    "Verify.references": "Reference figures by name.",
    "Verify.build": "What is built of the patched tree.",
    "Verify.checks": "The checks by name.",
    "Verify.mutants": "Deliberate faults by name, which a check must notice.",
    "Build.wheel": "Build a wheel.",
    "Build.image": "Build a container image.",
    "WheelBuild.root": "The folder of the repository with the build configuration.",
    "ImageBuild.file": "The Containerfile, relative to the project.",
    "Check.level": "static, build or smoke.",
    "Check.run": "A pytest node id.",
    "Check.proves": "What it shows when it passes.",
    "Check.limits": "Bounds that the check holds itself to.",
    "Check.needs": "What it needs of the machine.",
    "Check.required": "Whether not running it is a failure.",
    "Check.teeth": "What it must fail on.",
    "Limits.seconds": "The longest it may take.",
    "Limits.accept_length": "The band [low, high] of the accept length.",
    "Needs.gpus": "How many GPUs.",
    "Needs.capability": "Their compute capability, as a specifier.",
    "Needs.memory_gib": "The memory of each, in GiB.",
    "Needs.packages": "Python packages that must be importable.",
    "Needs.weights": "Whether the model's weights are needed.",
    "Teeth.without": "It must fail on the tree without these patches.",
    "Teeth.mutants": "It must fail on the tree with each of these mutants.",
    "Teeth.none": "Why it need not fail on anything.",
    "Mutant.patch": "The patch file that makes the fault.",
    "Mutant.on": "The targets it is made for.",
    "Host.ssh": "Its name in the ssh configuration of whoever runs this.",
    "Host.gpus": "How many GPUs it has.",
    "Host.capability": "Their compute capability.",
}


def series_schema() -> dict[str, Any]:
    """The schema as a document (JSON schema 2020-12)."""
    schema = msgspec.json.schema(model.Series)
    for name, definition in schema["$defs"].items():
        for key, prop in definition.get("properties", {}).items():
            text = DESCRIPTIONS.get(f"{name}.{key}")
            if text:
                prop["description"] = text
    return {"$schema": DIALECT, "title": "series.yaml of patchctl", **schema}
