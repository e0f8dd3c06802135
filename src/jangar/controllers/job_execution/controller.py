"""The parts of a registration that all controllers of children that run Jobs share."""

from datetime import timedelta
from typing import Final

from jangar.controllers.informers import CHILD_JOBS, CHILD_PODS, Source
from jangar.controllers.job_execution.act import ActionDependencies
from jangar.controllers.job_execution.app_tokens import AppTokens
from jangar.controllers.job_execution.job_request import JobRequestReader
from jangar.controllers.job_execution.observe import Caches
from jangar.controllers.job_execution.reconciler import JobReconciler
from jangar.controllers.reference_index import child_of_pod, owner_of
from jangar.controllers.registration import ControllerContext, Rule, Watch, updates, updates_status
from jangar.controllers.resources import kind_of, resource_of
from jangar.controllers.watch_predicates import (
    deferred_if,
    job_wait_state,
    only_status_changed,
    pod_wait_state,
    same_wait_state,
    stop_was_requested,
)
from jangar.domain.job_execution.observation import WorkLimits
from jangar.kinds.registry import RUN_KINDS
from kubekit.client.builtin import CONFIG_MAPS, EVENTS, JOBS, PODS, SECRETS

GRACE_MARGIN: Final = timedelta(seconds=10)
"""From the end of the longest grace period to the cancel timeout: time to observe that the container has ended."""


def job_watches(own: Source) -> tuple[Watch, ...]:
    """A child is reconciled when it, its Jobs or their pods change."""
    kind = kind_of(own.resource)
    return (
        Watch(source=own, where=stop_was_requested, is_urgent=True),
        Watch(source=own, delay=deferred_if(only_status_changed)),
        Watch(source=CHILD_JOBS, keys=owner_of(kind), delay=deferred_if(same_wait_state(job_wait_state))),
        Watch(source=CHILD_PODS, keys=child_of_pod, delay=deferred_if(same_wait_state(pod_wait_state))),
    )


def job_rules(own: Source) -> tuple[Rule, ...]:
    """The rights that running Jobs for a kind needs."""
    resource = own.resource
    return (
        updates(resource, "patch", "delete"),
        updates_status(kind_of(resource)),
        # The admission plugin OwnerReferencesPermissionEnforcement requires it to set an owner reference.
        Rule(resource.group, (f"{resource.plural}/finalizers",), ("update",)),
        updates(JOBS, "create", "patch", "delete"),
        updates(PODS, "patch", "delete"),
        # Log tails, and the Secret values to redact in them.
        Rule("", ("pods/log",), ("get",)),
        # Keys of GitHub Apps, and Secrets for their tokens.
        updates(SECRETS, "get", "create"),
        # Files of runners.
        updates(CONFIG_MAPS, "get", "create"),
        # Why a pod could not be created.
        updates(EVENTS, "list"),
    )


def job_reconciler(
    context: ControllerContext, own: Source, requests: JobRequestReader, limits: WorkLimits
) -> JobReconciler:
    """A reconciler for children of one kind."""
    settings, informers = context.settings, context.informers
    children, jobs, pods = informers[own], informers[CHILD_JOBS], informers[CHILD_PODS]
    return JobReconciler(
        caches=Caches(children=children.cache, jobs=jobs.cache, pods=pods.cache),
        requests=requests,
        dependencies=ActionDependencies(
            client=context.client,
            writes=context.writes,
            children=children,
            jobs=jobs,
            pods=pods,
            recorder=context.recorder,
            tokens=AppTokens(context.client, context.now, hosts=settings.policy.provider_hosts),
            logs=context.logs,
            service_account=settings.service_account,
            security_context=settings.security_context,
            stop_bound=settings.work_limits.cancel_timeout + timedelta(seconds=30),
            max_grace=settings.work_limits.cancel_timeout - GRACE_MARGIN,
            share_processes=settings.share_processes,
        ),
        writer=context.writer,
        owners={run.name: resource_of(run.kind) for run in RUN_KINDS.values() if run.owns_runs},
        limits=limits,
        now=context.now,
        history=context.history,
        observers=context.observers,
    )
