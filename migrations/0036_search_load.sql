-- Search: many records at once are loaded in short steps.

-- While a load is under way: the number of its first document, the last term whose postings are written (none at first),
-- and until when its node has the index for itself. Afterwards another one takes the documents out and queues them again.
ALTER TABLE search_state ADD COLUMN load_from {int};
ALTER TABLE search_state ADD COLUMN load_term {text};
ALTER TABLE search_state ADD COLUMN load_until {time};

-- Without `frequency`, which changes with every document: only the row itself has to be written then.
DROP INDEX search_words_start;
DROP INDEX search_words_end;
CREATE INDEX search_words_start ON search_words (project_id, section, letters, word) WHERE letters > 0;
CREATE INDEX search_words_end ON search_words (project_id, section, letters, reversed, word) WHERE letters > 0;

-- By class, too: closed documents of a caller are found without going through the open ones.
DROP INDEX search_docs_parent;
DROP INDEX search_docs_space;
DROP INDEX search_docs_author;
CREATE INDEX search_docs_parent ON search_docs (project_id, parent_id, class, number) WHERE parent_id IS NOT NULL;
CREATE INDEX search_docs_space ON search_docs (project_id, space_id, class, number) WHERE space_id IS NOT NULL;
CREATE INDEX search_docs_author ON search_docs (project_id, author_id, class, number) WHERE author_id IS NOT NULL;
