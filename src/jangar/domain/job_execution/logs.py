"""Which log is stored before its pod is released, and its title among the logs of other Jobs."""

from jangar.domain.job_execution.actions import StoreLogs
from jangar.domain.job_execution.observation import WorkObservation
from jangar.domain.job_execution.outcome import first_pod
from jangar.domain.job_execution.record import JobNote, WorkRecord


def logs_to_keep(observation: WorkObservation, record: WorkRecord) -> tuple[StoreLogs, ...]:
    """That of the Job that is noted, unless it is stored already or has no pod."""
    note = record.job
    if observation.logs_kept or note is None:
        return ()
    pod = first_pod(observation.pods, recorded_uid=note.pod_uid)
    if pod is None:
        return ()
    title = _title(note) if record.stages or record.attempts else ""
    return (StoreLogs(pod=pod.name, pod_uid=pod.uid, job=note.name, title=title),)


def _title(note: JobNote) -> str:
    parts = (
        f"step {note.step}" if note.step else "",
        f"iteration {note.iteration}" if note.iteration else "",
        f"attempt {note.attempt}",
    )
    return ", ".join(item for item in parts if item)
