-- The payload of a job is kept as it was written, with its keys in order.
ALTER TABLE jobs ALTER COLUMN payload TYPE {document} USING payload::{document};
