-- Entities with a keyword and a source: what is left of the keyword's feed has none. Once for each whole
-- feed, once for its part in each space.
INSERT INTO entity_counts (project_id, scope, shard, total)
SELECT e.project_id, 'sourced-keyword:' || k.word,
    instr('0123456789ABCDEF', substr(hex(e.id), 32, 1)) - 1, count(*)
FROM entities e
    JOIN (SELECT DISTINCT b.project_id, b.id, j.value AS word
        FROM entity_bodies b, json_each(b.keywords) j) k ON k.project_id = e.project_id AND k.id = e.id
WHERE e.is_listed AND e.source_id IS NOT NULL
GROUP BY 1, 2, 3;
INSERT INTO entity_counts (project_id, scope, shard, total, within, space_id)
SELECT p.project_id, 'in:' || p.space || ':' || p.within, p.shard, count(*), p.within, p.space_id
FROM (SELECT e.project_id, e.space_id, 'sourced-keyword:' || k.word AS within,
        instr('0123456789ABCDEF', substr(hex(e.id), 32, 1)) - 1 AS shard,
        lower(substr(hex(e.space_id), 1, 8) || '-' || substr(hex(e.space_id), 9, 4) || '-'
            || substr(hex(e.space_id), 13, 4) || '-' || substr(hex(e.space_id), 17, 4) || '-'
            || substr(hex(e.space_id), 21)) AS space
    FROM entities e
        JOIN (SELECT DISTINCT b.project_id, b.id, j.value AS word
            FROM entity_bodies b, json_each(b.keywords) j) k ON k.project_id = e.project_id AND k.id = e.id
    WHERE e.is_listed AND e.source_id IS NOT NULL AND e.space_id IS NOT NULL) p
GROUP BY p.project_id, p.space_id, p.space, p.within, p.shard;
