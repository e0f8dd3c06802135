"""DELETE: preconditions, propagation, grace periods, finalizers, collections."""

from contract.kubernetes_api.objects import (
    ACCOUNTS,
    CONFIG_MAPS,
    JOBS,
    PODS,
    SECRETS,
    WIDGETS,
    config_map,
    job,
    owner_of,
    pod,
    secret,
    widget,
)
from contract.kubernetes_api.session import Session

OTHER_UID = "11111111-2222-3333-4444-555555555555"


def _options(**fields):
    return {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


def _names(body):
    return sorted(item["metadata"]["name"] for item in body["items"]) if "items" in body else body


def _owner_and_child(s: Session, **reference) -> tuple[dict, dict]:
    with s.unrecorded():
        owner = s.post(CONFIG_MAPS, config_map("owner")).body
        return owner, s.post(
            CONFIG_MAPS, config_map("child", ownerReferences=[owner_of(owner, **reference)])
        ).body


def _account(s: Session) -> None:
    s.eventually(
        "/api/v1/namespaces/{ns}/serviceaccounts/default", lambda answer: answer.is_success, record=False
    )


def delete_answers_a_status_with_the_uid(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.post(WIDGETS, widget("a"))
    s.delete(f"{CONFIG_MAPS}/a")
    s.get(f"{CONFIG_MAPS}/a")
    s.delete(f"{WIDGETS}/a")
    s.get(f"{WIDGETS}/a")


def accounts_and_pods_answer_the_object(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}})
        s.post(PODS, pod("a"))
    s.delete(f"{ACCOUNTS}/a")
    s.delete(f"{PODS}/a")


def deleting_what_is_missing_is_not_found(s: Session):
    s.delete(f"{CONFIG_MAPS}/none")
    s.delete(f"{WIDGETS}/none")


def a_uid_precondition_is_held(s: Session):
    with s.unrecorded():
        kept = s.post(CONFIG_MAPS, config_map("a")).body
        made = s.post(WIDGETS, widget("a")).body
    for path, current in ((CONFIG_MAPS, kept), (WIDGETS, made)):
        s.delete(f"{path}/a", _options(preconditions={"uid": OTHER_UID}))
        s.delete(f"{path}/a", _options(preconditions={"uid": current["metadata"]["uid"]}))


def a_version_precondition_is_held(s: Session):
    for path, body in ((CONFIG_MAPS, config_map("a")), (WIDGETS, widget("a"))):
        with s.unrecorded():
            old = s.post(path, body).body["metadata"]["resourceVersion"]
            new = s.merge(f"{path}/a", {"metadata": {"labels": {"a": "b"}}}).body["metadata"][
                "resourceVersion"
            ]
        s.delete(f"{path}/a", _options(preconditions={"resourceVersion": old}))
        s.delete(f"{path}/a", _options(preconditions={"resourceVersion": new}))


def a_finalizer_holds_the_object(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        s.post(path, made("a", finalizers=["example.com/one", "example.com/two"]))
        s.delete(f"{path}/a")
        s.delete(f"{path}/a")
        s.merge(f"{path}/a", {"metadata": {"finalizers": ["example.com/two"]}})
        s.merge(f"{path}/a", {"metadata": {"labels": {"still": "here"}}})
        s.merge(f"{path}/a", {"metadata": {"finalizers": []}})
        s.get(f"{path}/a")


def a_put_that_removes_the_last_finalizer_ends_the_object(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a", finalizers=["example.com/one"]))
        s.delete(f"{WIDGETS}/a")
        current = s.get(f"{WIDGETS}/a").body
    s.put(f"{WIDGETS}/a", {**current, "metadata": {**current["metadata"], "finalizers": []}})
    s.get(f"{WIDGETS}/a")


def no_finalizer_can_be_added_while_deleting(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        with s.unrecorded():
            s.post(path, made("a", finalizers=["example.com/one"]))
            s.delete(f"{path}/a")
        s.merge(f"{path}/a", {"metadata": {"finalizers": ["example.com/one", "example.com/late"]}})


def a_deletion_time_cannot_be_taken_back(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        with s.unrecorded():
            s.post(path, made("a", finalizers=["example.com/one"]))
            s.delete(f"{path}/a")
        s.merge(f"{path}/a", {"metadata": {"deletionTimestamp": None}})
        s.merge(f"{path}/a", {"metadata": {"deletionTimestamp": "2031-01-01T00:00:00Z"}})


def creating_a_name_that_is_being_deleted_is_a_conflict(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a", finalizers=["example.com/one"]))
        s.delete(f"{WIDGETS}/a")
    s.post(WIDGETS, widget("a"))


def background_deletion_collects_children_later(s: Session):
    _owner_and_child(s)
    s.delete(f"{CONFIG_MAPS}/owner", _options(propagationPolicy="Background"))
    s.gone(f"{CONFIG_MAPS}/child")


def orphaning_keeps_children(s: Session):
    _owner_and_child(s)
    s.delete(f"{CONFIG_MAPS}/owner", _options(propagationPolicy="Orphan"))
    s.gone(f"{CONFIG_MAPS}/owner")
    s.get(f"{CONFIG_MAPS}/child", select=lambda body: body["metadata"].get("ownerReferences"))


def foreground_deletion_waits_for_blocking_children(s: Session):
    with s.unrecorded():
        owner = s.post(CONFIG_MAPS, config_map("owner")).body
        reference = owner_of(owner, blockOwnerDeletion=True)
        s.post(CONFIG_MAPS, config_map("child", ownerReferences=[reference], finalizers=["example.com/hold"]))
    s.delete(f"{CONFIG_MAPS}/owner", _options(propagationPolicy="Foreground"))
    s.eventually(
        f"{CONFIG_MAPS}/child",
        lambda answer: "deletionTimestamp" in answer.body["metadata"],
        select=lambda body: sorted(body["metadata"]),
    )
    s.get(f"{CONFIG_MAPS}/owner")
    s.merge(
        f"{CONFIG_MAPS}/child",
        {"metadata": {"finalizers": None}},
        select=lambda body: sorted(body["metadata"]),
    )
    s.gone(f"{CONFIG_MAPS}/owner")


def foreground_deletion_of_a_custom_resource_sets_its_finalizer(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    s.delete(f"{WIDGETS}/a?propagationPolicy=Foreground")
    s.gone(f"{WIDGETS}/a")


def an_unknown_propagation_policy_is_refused(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.post(WIDGETS, widget("a"))
    s.delete(f"{CONFIG_MAPS}/a", _options(propagationPolicy="Sideways"))
    s.delete(f"{WIDGETS}/a?propagationPolicy=Sideways")
    s.delete(f"{CONFIG_MAPS}/a", _options(propagationPolicy="Background", orphanDependents=True))


def orphan_dependents_is_the_old_word(s: Session):
    _owner_and_child(s)
    s.delete(f"{CONFIG_MAPS}/owner?orphanDependents=true")


def a_child_of_no_one_is_collected(s: Session):
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": OTHER_UID}
    s.post(CONFIG_MAPS, config_map("child", ownerReferences=[reference]))
    s.gone(f"{CONFIG_MAPS}/child")


def a_child_with_a_second_owner_stays(s: Session):
    with s.unrecorded():
        one = s.post(CONFIG_MAPS, config_map("one")).body
        two = s.post(CONFIG_MAPS, config_map("two")).body
        s.post(CONFIG_MAPS, config_map("child", ownerReferences=[owner_of(one), owner_of(two)]))
        s.delete(f"{CONFIG_MAPS}/one", _options(propagationPolicy="Background"))
    s.eventually(
        f"{CONFIG_MAPS}/child",
        lambda answer: len(answer.body["metadata"]["ownerReferences"]) == 1,
        select=lambda body: body["metadata"]["ownerReferences"],
    )


def deleting_a_job_without_a_policy_orphans_its_pods_with_a_warning(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a"))
        s.post(JOBS, job("b"))
    s.delete(f"{JOBS}/a")
    s.delete(f"{JOBS}/b?propagationPolicy=Background")


def an_unscheduled_pod_is_deleted_at_once(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(PODS, pod("a"))
    s.delete(f"{PODS}/a", _options(gracePeriodSeconds=20))
    s.get(f"{PODS}/a")


def a_running_pod_is_deleted_with_grace(s: Session):
    _account(s)
    spec = {
        "automountServiceAccountToken": False,
        "nodeName": "nowhere",
        "containers": [{"name": "main", "image": "busybox"}],
    }
    with s.unrecorded():
        s.post(PODS, pod("a", spec=spec))
    s.delete(f"{PODS}/a", _options(gracePeriodSeconds=600))
    s.delete(f"{PODS}/a", _options(gracePeriodSeconds=700))
    s.delete(f"{PODS}/a", _options(gracePeriodSeconds=300))
    s.delete(f"{PODS}/a")
    s.delete(f"{PODS}/a", _options(gracePeriodSeconds=0))
    s.get(f"{PODS}/a")


def grace_takes_the_pods_own_period_by_default(s: Session):
    _account(s)
    spec = {
        "automountServiceAccountToken": False,
        "nodeName": "nowhere",
        "terminationGracePeriodSeconds": 77,
        "containers": [{"name": "main", "image": "busybox"}],
    }
    with s.unrecorded():
        s.post(PODS, pod("a", spec=spec))
    s.delete(f"{PODS}/a")
    s.delete(f"{PODS}/a?gracePeriodSeconds=-1")


def grace_is_ignored_where_a_kind_has_none(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
        s.post(WIDGETS, widget("a", finalizers=["example.com/hold"]))
    s.delete(f"{CONFIG_MAPS}/a?gracePeriodSeconds=30")
    s.delete(f"{WIDGETS}/a?gracePeriodSeconds=30")


def dry_run_deletes_nothing(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        with s.unrecorded():
            s.post(path, made("a"))
            s.post(path, made("b", finalizers=["example.com/hold"]))
        s.delete(f"{path}/a?dryRun=All")
        s.delete(f"{path}/b", _options(dryRun=["All"]))
        s.get(f"{path}/a")
        s.get(f"{path}/b")


def delete_options_are_decoded_strictly(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
    s.delete(f"{CONFIG_MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap"})
    s.delete(f"{CONFIG_MAPS}/a", "{bad")
    s.delete(f"{CONFIG_MAPS}/a", {"gracePeriodSeconds": "soon"})
    s.delete(f"{CONFIG_MAPS}/a?gracePeriodSeconds=soon")
    s.delete(f"{CONFIG_MAPS}/a", {"propagationPolicy": "Background"})


def a_collection_is_deleted_by_selector(s: Session):
    for path, made in ((CONFIG_MAPS, config_map), (WIDGETS, widget)):
        with s.unrecorded():
            for name, label in (("a", "yes"), ("b", "no"), ("c", "yes")):
                s.post(path, made(name, labels={"in": label}))
        s.delete(f"{path}?labelSelector=in=yes")
        s.get(path, select=_names)
        s.delete(f"{path}?fieldSelector=metadata.name=b")
        s.get(path, select=_names)


def a_collection_delete_lists_what_it_deleted(s: Session):
    with s.unrecorded():
        s.post(SECRETS, secret("a", stringData={"a": "b"}))
        s.post(SECRETS, secret("b"))
    s.delete(SECRETS)
    s.get(SECRETS, select=_names)


def a_collection_delete_leaves_held_objects_marked(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a", finalizers=["example.com/hold"]))
        s.post(WIDGETS, widget("b"))
    s.delete(WIDGETS)
    s.get(
        WIDGETS,
        select=lambda body: [
            [i["metadata"]["name"], "deletionTimestamp" in i["metadata"]] for i in body["items"]
        ],
    )


def a_collection_dry_run_deletes_nothing(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    s.delete(f"{WIDGETS}?dryRun=All")
    s.get(WIDGETS, select=_names)


def starting_deletion_bumps_a_custom_resources_generation(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a", finalizers=["example.com/hold"]))
    s.delete(f"{WIDGETS}/a")
    s.get(f"{WIDGETS}/a")
