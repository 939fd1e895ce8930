-- How many events that are not deleted start in each span of `days` days of UTC, counted from 1970: on each day, and in
-- each period of 64 days. A list adds up whole periods and the days at its ends instead of counting events one by one.
CREATE TABLE event_totals (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    days {int} NOT NULL,
    status {text} NOT NULL,
    visibility {text} NOT NULL,
    type {text} NOT NULL,
    number {int} NOT NULL,
    total {int} NOT NULL,
    PRIMARY KEY (project_id, days, status, visibility, type, number)
) {clustered};

INSERT INTO event_totals (project_id, days, status, visibility, type, number, total)
SELECT project_id, 1, status, visibility, type, day, total FROM event_days;
INSERT INTO event_totals (project_id, days, status, visibility, type, number, total)
SELECT project_id, 64, status, visibility, type,
    CASE WHEN day >= 0 THEN day / 64 ELSE (day - 63) / 64 END, sum(total)
FROM event_days GROUP BY 1, 3, 4, 5, 6;
DROP TABLE event_days;
