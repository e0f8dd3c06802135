"""PUT of an object or of its status."""

from picokube.apiserver import errors
from picokube.apiserver.admission import admitted, check_name_matches
from picokube.apiserver.messages import Answer, Request
from picokube.apiserver.object_store import create, update
from picokube.apiserver.options import write_options
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.responses import also_warning, object_answer
from picokube.apiserver.server_context import Serving, key_of
from picokube.schema import ErrorType, FieldError


async def update_object(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """Replace what is stored; a stated resourceVersion must be the stored one."""
    options = write_options(request, kind="UpdateOptions")
    found = await admitted(serving, resource, target, request, options, any_kind=True)
    check_name_matches(target, found.object)
    version = found.object["metadata"].get("resourceVersion")
    version = None if version == "0" else version
    if version and not str(version).isdigit():
        raise errors.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    key = key_of(resource, target.namespace, target.name or "")
    if serving.store.get(key) is None and resource.create_on_update:
        if not options.dry_run:
            found.object["metadata"].pop("resourceVersion", None)
        written = await create(serving, resource, target.namespace, found.object, options)
        return object_answer(request, resource, written.object, status=201, warnings=found.warnings)
    if not version and not resource.unconditional_update and serving.store.get(key) is not None:
        problem = FieldError(
            type=ErrorType.INVALID,
            field="metadata.resourceVersion",
            bad_value=0,
            detail="must be specified for an update",
        )
        raise errors.invalid(resource.plural, resource.group, target.name or "", [problem])

    def replacement(old: JsonObject) -> tuple[JsonObject, bool]:
        del old
        return found.object, False

    with also_warning(found.warnings):
        written = await update(
            serving,
            resource,
            key,
            replacement,
            options,
            subresource=target.subresource,
            is_replacement=True,
            shares=True,
        )
    warnings = [*found.warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, data=written.data, warnings=warnings)
