"""Managers of other versions of a custom kind, as whom Kubernetes looks at each change. Pure.

Without a webhook an object has the same fields in every version, and a version may lack some of them.
"""

from dataclasses import replace

from picokube.apiserver.apply.managers import Managers
from picokube.apiserver.apply.merge_schema import merge_type
from picokube.apiserver.apply.type_check import type_problems
from picokube.apiserver.resources import JsonObject, ResourceType


def conversion_problem(resource: ResourceType, managers: Managers, old: JsonObject, new: JsonObject) -> str:
    """Why a change cannot be shown in the version of one of the managers; empty if it can."""
    versions = {owned.api_version for owned in managers.values()} - {resource.api_version}
    for version in sorted(versions) if resource.version_schemas else ():
        if version not in resource.version_schemas:
            return (
                f"failed to convert old object: request to convert CR to an invalid group/version: {version}"
            )
        kind = merge_type(replace(resource, schema=resource.version_schemas[version]))
        for which, obj in (("old", old), ("new", new)):
            if problem := type_problems(kind, obj):
                return f"failed to convert {which} object: {problem}"
    return ""
