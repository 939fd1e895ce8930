-- Search: words have numbers. A document that anybody may read is stored with those of its words, which take a quarter of the
-- space; documents that were indexed before keep their words as texts until they change.
ALTER TABLE search_words ADD COLUMN number {int} NOT NULL DEFAULT 0;
UPDATE search_words SET number = n.number FROM (
    SELECT project_id, section, word,
        row_number() OVER (PARTITION BY project_id ORDER BY frequency DESC, section, word) AS number
    FROM search_words
) n WHERE n.project_id = search_words.project_id AND n.section = search_words.section AND n.word = search_words.word;
CREATE UNIQUE INDEX search_words_number ON search_words (project_id, number);

ALTER TABLE search_state ADD COLUMN next_word {int} NOT NULL DEFAULT 1;
UPDATE search_state SET next_word = 1 + (
    SELECT COALESCE(max(w.number), 0) FROM search_words w WHERE w.project_id = search_state.project_id
);
