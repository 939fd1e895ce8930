-- Events are counted by the hour, too: what was left of a day was counted event by event. A span is named by its hours.
ALTER TABLE event_totals RENAME COLUMN days TO hours;
UPDATE event_totals SET hours = hours * 24;
INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
SELECT project_id, 1, status, visibility, type,
    CASE WHEN start_time >= 0 THEN start_time / 3600000 ELSE (start_time + 1) / 3600000 - 1 END, count(*)
FROM events WHERE deleted_at IS NULL GROUP BY 1, 3, 4, 5, 6;
