"""Tables of runs, steps and log tails."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "runs",
        sa.Column("uid", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("name", sa.String(253), nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("phase", sa.String(32), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("finished_at", moment, nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.Column("root_uid", sa.String(64), nullable=False),
        sa.Column("owner_uid", sa.String(64)),
        sa.Column("step", sa.String(63)),
        sa.Column("attempt", sa.Integer),
        sa.Column("definition", sa.String(253)),
        sa.Column("started_at", moment),
        sa.Column("reason", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("exit_code", sa.Integer),
        sa.Column("outcome", sa.JSON),
        sa.Column("outputs", sa.JSON),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("log_location", sa.Text),
    )
    last = ["finished_at", "uid"]
    op.create_index("runs_finished", "runs", last)
    op.create_index("runs_place", "runs", ["namespace", *last])
    op.create_index("runs_phase", "runs", ["namespace", "phase", *last])
    op.create_index("runs_name", "runs", ["namespace", "name", *last])
    for name, columns, condition in (
        ("runs_roots", last, "owner_uid IS NULL"),
        ("runs_roots_place", ["namespace", *last], "owner_uid IS NULL"),
        ("runs_owner", ["owner_uid", *last], "owner_uid IS NOT NULL"),
    ):
        where = sa.text(condition)
        op.create_index(name, "runs", columns, sqlite_where=where, postgresql_where=where)
    op.create_table(
        "steps",
        sa.Column("run_uid", sa.String(64), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("phase", sa.String(32), nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("attempt", sa.Integer),
        sa.Column("child_name", sa.String(253)),
        sa.Column("child_uid", sa.String(64)),
        sa.Column("started_at", moment),
        sa.Column("finished_at", moment),
        sa.Column("outputs", sa.JSON),
    )
    op.create_table(
        "log_tails",
        sa.Column("uid", sa.String(64), primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables."""
    for table in ("log_tails", "steps", "runs"):
        op.drop_table(table)
