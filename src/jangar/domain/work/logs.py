"""Which log is to be stored before its pod is let go, and what it is called among those of other Jobs."""

from jangar.domain.work.actions import KeepLogs
from jangar.domain.work.observation import WorkObservation
from jangar.domain.work.outcome import first_pod
from jangar.domain.work.record import JobNote, WorkRecord


def logs_to_keep(observation: WorkObservation, record: WorkRecord) -> tuple[KeepLogs, ...]:
    """That of the Job that is noted, unless it is stored already or has no pod."""
    note = record.job
    if observation.logs_kept or note is None:
        return ()
    pod = first_pod(observation.pods, recorded_uid=note.pod_uid)
    if pod is None:
        return ()
    title = _title(note) if record.stages or record.attempts else ""
    return (KeepLogs(pod=pod.name, pod_uid=pod.uid, job=note.name, title=title),)


def _title(note: JobNote) -> str:
    told = (
        f"step {note.step}" if note.step else "",
        f"iteration {note.iteration}" if note.iteration else "",
        f"attempt {note.attempt}",
    )
    return ", ".join(each for each in told if each)
