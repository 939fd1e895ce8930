-- Counts, views and points change often. A new version of a row that fits into its page, and changes no indexed
-- column, needs no new index entries.
ALTER TABLE entities SET (fillfactor = 85);
ALTER TABLE comments SET (fillfactor = 90);
ALTER TABLE users SET (fillfactor = 85);
