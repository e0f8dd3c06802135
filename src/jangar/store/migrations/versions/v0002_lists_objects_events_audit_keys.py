"""Lists by creation time and text, whole objects, Events, the audit log and idempotency keys."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("owner_name", sa.String(253)),
    ("retry_of", sa.String(253)),
    ("created_by", sa.String(253)),
    ("cancel_requested", sa.Boolean),
    ("steps_ended", sa.Integer),
    ("steps_total", sa.Integer),
    ("counts", sa.JSON),
    ("search", sa.Text),
)
_NEWEST = ["created_at", "uid"]
_ROOTS: tuple[tuple[str, list[str]], ...] = (
    ("runs_listed_roots", []),
    ("runs_listed_place", ["namespace"]),
    ("runs_listed_phase", ["phase"]),
    ("runs_listed_place_phase", ["namespace", "phase"]),
    ("runs_listed_definition", ["definition"]),
)


def upgrade() -> None:
    """Add the columns of lists, filled from existing rows as far as possible, and the new tables."""
    for name, kind in _COLUMNS:
        op.add_column("runs", sa.Column(name, kind))
    op.add_column("log_tails", sa.Column("stored_at", sa.DateTime(timezone=True)))
    _fill()
    op.create_index("runs_listed", "runs", ["kind", *_NEWEST])
    where = sa.text("owner_uid IS NULL")
    for name, columns in _ROOTS:
        op.create_index(
            name, "runs", ["kind", *columns, *_NEWEST], sqlite_where=where, postgresql_where=where
        )
    op.create_index("log_tails_stored", "log_tails", ["stored_at"])
    _create()


_SEARCH = """
UPDATE runs SET search = lower(substr(name || ' ' || namespace || ' ' || coalesce(definition, '') || ' ' ||
    coalesce(reason, '') || ' ' || coalesce(message, ''), 1, 600))
"""
_OWNERS = """
UPDATE runs SET owner_name = (SELECT above.name FROM runs AS above WHERE above.uid = runs.owner_uid)
WHERE owner_uid IS NOT NULL
"""
_STEPS = """
UPDATE runs SET steps_total = (SELECT count(*) FROM steps WHERE run_uid = uid),
    steps_ended = (SELECT count(*) FROM steps WHERE run_uid = uid)
WHERE kind = 'OrchestrationRun'
"""


def _fill() -> None:
    for statement in (_SEARCH, _OWNERS, _STEPS):
        op.execute(sa.text(statement))
    tails = sa.table("log_tails", sa.column("stored_at", sa.DateTime(timezone=True)))
    op.execute(sa.update(tails).values(stored_at=datetime.now(UTC)))


def _create() -> None:
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "objects",
        sa.Column("uid", sa.String(64), primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("definition", sa.LargeBinary),
    )
    op.create_table(
        "events",
        sa.Column("uid", sa.String(64), primary_key=True),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(128), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("source", sa.String(128), nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("first_at", moment, nullable=False),
        sa.Column("last_at", moment, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", moment, nullable=False),
        sa.Column("actor", sa.String(253), nullable=False),
        sa.Column("action", sa.String(128), nullable=False),
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("name", sa.String(253), nullable=False),
        sa.Column("uid", sa.String(64)),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("detail", sa.Text),
    )
    op.create_index("audit_place", "audit", ["namespace", "number"])
    op.create_index("audit_at", "audit", ["at"])
    op.create_table(
        "idempotency_keys",
        sa.Column("namespace", sa.String(63), primary_key=True),
        sa.Column("kind", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.String(253), nullable=False),
        sa.Column("uid", sa.String(64)),
        sa.Column("created_at", moment, nullable=False),
    )


def downgrade() -> None:
    """Drop the columns and tables that were added."""
    for table in ("idempotency_keys", "audit", "events", "objects"):
        op.drop_table(table)
    op.drop_index("log_tails_stored", "log_tails")
    for name, _ in (*_ROOTS, ("runs_listed", [])):
        op.drop_index(name, "runs")
    op.drop_column("log_tails", "stored_at")
    for name, _ in reversed(_COLUMNS):
        op.drop_column("runs", name)
