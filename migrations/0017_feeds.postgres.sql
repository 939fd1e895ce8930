-- Entities with a keyword and a source: what is left of the keyword's feed has none. Once for each whole
-- feed, once for its part in each space.
INSERT INTO entity_counts (project_id, scope, shard, total)
SELECT e.project_id, 'sourced-keyword:' || k.word, CAST(CAST('x' || right(CAST(e.id AS TEXT), 1) AS BIT(4)) AS INT), count(*)
FROM entities e
    JOIN (SELECT DISTINCT b.project_id, b.id, j.word
        FROM entity_bodies b, jsonb_array_elements_text(CAST(b.keywords AS JSONB)) AS j (word)) k
        ON k.project_id = e.project_id AND k.id = e.id
WHERE e.is_listed AND e.source_id IS NOT NULL
GROUP BY 1, 2, 3;
INSERT INTO entity_counts (project_id, scope, shard, total, within, space_id)
SELECT p.project_id, 'in:' || CAST(p.space_id AS TEXT) || ':' || p.within, p.shard, count(*), p.within, p.space_id
FROM (SELECT e.project_id, e.space_id, 'sourced-keyword:' || k.word AS within,
        CAST(CAST('x' || right(CAST(e.id AS TEXT), 1) AS BIT(4)) AS INT) AS shard
    FROM entities e
        JOIN (SELECT DISTINCT b.project_id, b.id, j.word
            FROM entity_bodies b, jsonb_array_elements_text(CAST(b.keywords AS JSONB)) AS j (word)) k
            ON k.project_id = e.project_id AND k.id = e.id
    WHERE e.is_listed AND e.source_id IS NOT NULL AND e.space_id IS NOT NULL) p
GROUP BY p.project_id, p.space_id, p.within, p.shard;
