-- How many events that are not deleted start in each span of `hours` hours of UTC, counted from 1970: in each hour, on
-- each day, and in each period of 64 days. A list adds up whole periods and the days and hours at its ends instead of
-- counting events one by one.
CREATE TABLE event_totals (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    hours {int} NOT NULL,
    status {text} NOT NULL,
    visibility {text} NOT NULL,
    type {text} NOT NULL,
    number {int} NOT NULL,
    total {int} NOT NULL,
    PRIMARY KEY (project_id, hours, status, visibility, type, number)
) {clustered};

INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
SELECT project_id, 1, status, visibility, type,
    CASE WHEN start_time >= 0 THEN start_time / 3600000 ELSE (start_time + 1) / 3600000 - 1 END, count(*)
FROM events WHERE deleted_at IS NULL GROUP BY 1, 3, 4, 5, 6;
INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
SELECT project_id, 24, status, visibility, type, day, total FROM event_days;
INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
SELECT project_id, 1536, status, visibility, type,
    CASE WHEN day >= 0 THEN day / 64 ELSE (day - 63) / 64 END, sum(total)
FROM event_days GROUP BY 1, 3, 4, 5, 6;
DROP TABLE event_days;
