"""The tables of the newest version. Migrations create them."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    text,
)


class Timestamp(TypeDecorator[datetime]):
    """A time with its zone; stored in UTC in SQLite, which has no zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        time: datetime = value
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


metadata = MetaData()

RUNS = Table(
    "runs",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("namespace", String(63), nullable=False),
    Column("name", String(253), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("phase", String(32), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
    Column("root_uid", String(64), nullable=False),
    Column("owner_uid", String(64)),
    Column("step", String(63)),
    Column("attempt", Integer),
    Column("definition", String(253)),
    Column("started_at", Timestamp),
    Column("reason", Text),
    Column("message", Text),
    Column("exit_code", Integer),
    Column("outcome", JSON(none_as_null=True)),
    Column("outputs", JSON(none_as_null=True)),
    Column("spec", JSON, nullable=False),
    Column("log_location", Text),
    Column("owner_name", String(253)),
    Column("retry_of", String(253)),
    Column("created_by", String(253)),
    Column("cancel_requested", Boolean),
    Column("steps_ended", Integer),
    Column("steps_total", Integer),
    Column("counts", JSON(none_as_null=True)),
    Column("search", Text),
)
"""`search` is the text that searches look in: case-folded and truncated."""
_IS_ROOT = text("owner_uid IS NULL")
_IS_CHILD = text("owner_uid IS NOT NULL")
_LAST = (RUNS.c.finished_at, RUNS.c.uid)
Index("runs_finished", *_LAST)
Index("runs_place", RUNS.c.namespace, *_LAST)
Index("runs_roots", *_LAST, sqlite_where=_IS_ROOT, postgresql_where=_IS_ROOT)
Index("runs_roots_place", RUNS.c.namespace, *_LAST, sqlite_where=_IS_ROOT, postgresql_where=_IS_ROOT)
Index("runs_phase", RUNS.c.namespace, RUNS.c.phase, *_LAST)
Index("runs_name", RUNS.c.namespace, RUNS.c.name, *_LAST)
Index("runs_owner", RUNS.c.owner_uid, *_LAST, sqlite_where=_IS_CHILD, postgresql_where=_IS_CHILD)
_NEWEST = (RUNS.c.created_at, RUNS.c.uid)
Index("runs_listed", RUNS.c.kind, *_NEWEST)
for _name, _columns in (
    ("runs_listed_roots", ()),
    ("runs_listed_place", (RUNS.c.namespace,)),
    ("runs_listed_phase", (RUNS.c.phase,)),
    ("runs_listed_place_phase", (RUNS.c.namespace, RUNS.c.phase)),
    ("runs_listed_definition", (RUNS.c.definition,)),
):
    Index(_name, RUNS.c.kind, *_columns, *_NEWEST, sqlite_where=_IS_ROOT, postgresql_where=_IS_ROOT)

STEPS = Table(
    "steps",
    metadata,
    Column("run_uid", String(64), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", String(63), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("phase", String(32), nullable=False),
    Column("reason", Text),
    Column("message", Text),
    Column("attempt", Integer),
    Column("child_name", String(253)),
    Column("child_uid", String(64)),
    Column("started_at", Timestamp),
    Column("finished_at", Timestamp),
    Column("outputs", JSON(none_as_null=True)),
)

LOG_TAILS = Table(
    "log_tails",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("text", Text, nullable=False),
    Column("stored_at", Timestamp),
    Index("log_tails_stored", "stored_at"),
)

OBJECTS = Table(
    "objects",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("definition", LargeBinary),
)

EVENTS = Table(
    "events",
    metadata,
    Column("uid", String(64), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("type", String(16), nullable=False),
    Column("reason", String(128), nullable=False),
    Column("message", Text, nullable=False),
    Column("source", String(128), nullable=False),
    Column("count", Integer, nullable=False),
    Column("first_at", Timestamp, nullable=False),
    Column("last_at", Timestamp, nullable=False),
)

AUDIT = Table(
    "audit",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", Timestamp, nullable=False),
    Column("actor", String(253), nullable=False),
    Column("action", String(128), nullable=False),
    Column("namespace", String(63), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("name", String(253), nullable=False),
    Column("uid", String(64)),
    Column("status", Integer, nullable=False),
    Column("detail", Text),
    Index("audit_place", "namespace", "number"),
    Index("audit_at", "at"),
)

KEYS = Table(
    "idempotency_keys",
    metadata,
    Column("namespace", String(63), primary_key=True),
    Column("kind", String(64), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("name", String(253), nullable=False),
    Column("uid", String(64)),
    Column("created_at", Timestamp, nullable=False),
)
