-- The jobs table is the outbox: work for outside is a row of the transaction that causes it. Jobs of a queue run one after
-- another, in the order of `position`. A job that was given up, or that is kept so that it can be run again, has
-- `ended_at`.
ALTER TABLE jobs ADD COLUMN queue_id {uuid};
ALTER TABLE jobs ADD COLUMN position {int} NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN ended_at {time};
ALTER TABLE jobs ADD COLUMN has_failed {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE jobs ADD COLUMN last_error {text};
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (run_at, id) WHERE queue_id IS NULL AND ended_at IS NULL;
CREATE INDEX jobs_queued ON jobs (project_id, queue_id, position) WHERE queue_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- `run_at`: not before; a worker that claims the queue sets it to the end of its claim.
CREATE TABLE job_queues (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    run_at {time} NOT NULL,
    failures {int} NOT NULL,
    failing_since {time},
    paused_at {time},
    PRIMARY KEY (project_id, id)
) {strict};
CREATE INDEX job_queues_due ON job_queues (run_at) WHERE paused_at IS NULL;

-- Where a project's events are sent. `secret` and `previous_secret` are sealed with the server's secret key. The first
-- endpoint is the one that the API sets.
CREATE TABLE webhook_endpoints (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    is_first {bool} NOT NULL,
    url {text},
    secret {bytes},
    previous_secret {bytes},
    events {json} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id)
) {strict};
CREATE UNIQUE INDEX webhook_endpoints_first ON webhook_endpoints (project_id) WHERE is_first;
