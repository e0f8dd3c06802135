"""The 25 mistakes of hand-written API servers, each with the cases that cover it."""

QUIRKS: dict[int, list[str]] = {
    1: [
        "creating/a_resource_version_in_the_body_is_refused",
        "updating/a_version_that_is_no_number_is_an_internal_error",
        "reading/a_version_that_is_no_number_is_refused_unevenly",
        "watching/a_version_that_is_no_number_is_refused",
    ],
    2: [
        "applying/wrong_types_are_internal_errors",
        "applying/unknown_fields_are_internal_errors",
        "applying/duplicate_keys_are_internal_errors",
    ],
    3: [
        "applying/a_version_in_the_body_is_accepted_when_creating",
        "applying/force_that_is_no_boolean_is_accepted",
    ],
    4: [
        "patching/merge_cannot_change_identity",
        "updating/a_deletion_time_cannot_be_set_by_hand",
        "deleting/no_finalizer_can_be_added_while_deleting",
    ],
    5: [
        "validating/a_missing_required_field_stops_the_rules",
        "validating/a_bound_does_not_stop_the_rules",
        "validating/a_wrong_type_stops_the_rules",
    ],
    6: [
        "patching/failing_json_patches_are_unprocessable",
        "patching/a_json_patch_that_is_no_list_is_a_bad_request",
    ],
    7: [
        "creating/strict_field_validation_refuses_unknown_fields",
        "patching/strict_merge_refuses_unknown_fields",
    ],
    8: [
        "deleting/a_uid_precondition_is_held",
        "updating/another_uid_is_a_conflict",
        "patching/merge_cannot_change_identity",
    ],
    9: [
        "creating/generate_name_with_a_taken_name_says_that_no_unique_name_was_found",
        "creating/generate_name_is_cut_to_58_characters",
    ],
    10: [
        "creating/dry_run_answers_and_stores_nothing",
        "updating/dry_run_shows_the_new_generation_under_the_old_version",
    ],
    11: [
        "configuration/a_config_map_keeps_a_callers_generation",
        "creating/server_set_fields_in_the_body_are_ignored",
        "deleting/starting_deletion_bumps_a_custom_resources_generation",
    ],
    12: ["deleting/delete_answers_a_status_with_the_uid", "deleting/accounts_and_pods_answer_the_object"],
    13: ["deleting/a_finalizer_holds_the_object", "watching/a_deleted_event_carries_a_new_version"],
    14: [
        "server/an_unknown_resource_in_a_built_in_group_is_a_status",
        "server/an_unknown_resource_in_a_custom_group_is_plain_text",
    ],
    15: ["creating/post_to_a_named_path_creates_custom_resources_only"],
    16: [
        "reading/a_list_of_custom_resources_has_typed_items_and_an_empty_continue",
        "reading/a_list_of_built_ins_has_no_types_in_its_items",
    ],
    17: ["reporting/micro_times_have_six_decimals", "reporting/a_new_event_needs_six_decimals_too"],
    18: ["creating/finalizers_must_be_qualified_on_built_ins_only"],
    19: [
        "selecting/label_operators_select",
        "reading/a_limit_of_zero_or_less_is_no_limit",
        "reading/an_exact_version_shows_the_past",
    ],
    20: [
        "reading/a_future_version_times_out",
        "watching/a_future_version_just_waits",
        "watching/a_compacted_version_is_an_error_event",
    ],
    21: ["watching/a_table_watch_has_columns_in_its_first_event_only"],
    22: ["defining/a_schema_must_be_structural"],
    23: [
        "jobs/the_restart_policy_is_never_or_on_failure",
        "deleting/deleting_a_job_without_a_policy_orphans_its_pods_with_a_warning",
    ],
    24: ["subresources/a_fraction_of_zero_is_whole", "defining/null_is_dropped_unless_nullable"],
    25: ["namespaces/its_own_label_comes_back", "reporting/a_core_event_accepts_any_type"],
}
