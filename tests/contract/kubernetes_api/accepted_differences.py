"""Where the embedded server answers otherwise than a real one, on purpose. Each row was reviewed.

A row names a case, a step (counted from 1) and a path inside that step as the failing test prints it; everything under
that path is accepted. A row that accepts nothing fails the case: remove it.
"""

from typing import NamedTuple


class Place(NamedTuple):
    case: str
    step: int
    path: str


ACCEPTED: dict[Place, str] = {}

NOT_YET_EQUAL: dict[str, str] = {
    "access/an_account_token_can_be_requested": "serviceaccounts/token is not served",
    "access/may_somebody_else": "roles are stored, not enforced, and the answer says so",
    "access/reviews_are_not_stored": "reviews refuse other verbs with 405 instead of 404",
    "access/who_am_i": "the user's uid is not told",
    "applying/apply_of_a_field_that_the_stored_version_lacks_is_an_internal_error": "applying through another version does not convert to the stored one",
    "applying/null_in_an_applied_object": "a null that is applied is dropped instead of refused",
    "creating/another_kind_is_refused": "a body of another known kind is refused before it is decoded as that kind",
    "creating/another_version_is_refused": "a body of another version is refused without a warning of its fields",
    "creating/owner_references_are_checked": "owner references of custom resources are printed with sorted keys",
    "defining/a_crd_is_established_with_two_conditions": "conditions are set with the create itself",
    "defining/a_held_object_holds_its_crd": "a CRD has no clean-up finalizer yet",
    "defining/a_schema_change_applies_to_the_next_write": "objects are not defaulted again when read under a new schema",
    "defining/a_second_kind_with_a_taken_name_is_not_accepted": "conflicts of names between CRDs are not looked for",
    "defining/a_stored_version_cannot_be_removed": "storedVersions are not held against a change of versions",
    "defining/deleting_a_crd_deletes_its_objects": "a CRD has no clean-up finalizer yet",
    "defining/embedded_resources_are_checked": "metadata of embedded resources is checked in part",
    "defining/objects_keep_the_version_they_are_asked_in": "objects are not pruned to the stored version when written through another",
    "defining/patterns_must_compile_and_bounds_are_not_looked_at": "the words for a broken pattern are not RE2's",
    "defining/rules_must_compile_to_a_boolean": "some type errors of rules show only when they run",
    "defining/rules_that_could_cost_too_much_are_refused": "the cost of rules is not estimated",
    "deleting/a_deletion_time_cannot_be_taken_back": "a deletion time that a writer states is not owned by the writer",
    "discovering/aggregated_discovery_of_core": "subresources that only kubelets serve are not announced",
    "jobs/the_name_of_a_job_fits_in_a_label": "causes that repeat for generated labels are told once",
    "networking_and_storage/a_claim_is_filled_with_defaults": "claims have no protection finalizer: nobody here would remove it",
    "networking_and_storage/a_claim_is_protected_from_deletion_by_a_finalizer": "claims have no protection finalizer: nobody here would remove it",
    "networking_and_storage/a_service_address_does_not_change": "one message about dual stack differs",
    "patching/json_patch_operations": "metadata errors of an update are told once, not four times",
    "patching/json_patch_removing_required_identity_is_refused": "the message quotes the object in another form",
    "patching/merge_cannot_change_identity": "a body of another known kind is refused before it is decoded as that kind",
    "patching/strategic_merge_of_a_wrong_type_is_refused": "the message quotes the object instead of the patch",
    "pods/a_pod_can_be_bound_once": "pods/binding is not served",
    "pods/logs_of_a_pod_nobody_runs_cannot_be_read": "logs of a pod without a node are refused in other words",
    "protobuf/identity_is_asked_in_protobuf": "the user's uid is not told",
    "reporting/a_new_event_is_checked": "refusals of events.k8s.io name their group",
    "representing/tables_of_services_claims_and_events": "claims have no protection finalizer: nobody here would remove it",
    "server/methods_that_make_no_sense_are_not_allowed": "a method that is none is refused by the HTTP parser",
    "subresources/status_is_validated": "paths of status errors begin with status.",
    "validating/lists_have_length_and_kind": "fields below a value of another type are not warned of",
}
"""Cases whose answers still differ and should not, with what is missing. One that becomes equal must leave this list."""
