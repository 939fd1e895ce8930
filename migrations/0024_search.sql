-- Search: one inverted index for each project, in plain tables, the same on both engines.

ALTER TABLE projects ADD COLUMN has_search {bool} NOT NULL DEFAULT TRUE;
ALTER TABLE projects ADD COLUMN search_language {text} NOT NULL DEFAULT 'english';
ALTER TABLE projects ADD COLUMN interest_matching {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN interest_samples {bool} NOT NULL DEFAULT FALSE;

-- A project with this row is indexed. `is_filled`: everything that was there before has been queued. `language`: the
-- one whose stems are in the index. Whoever writes the index locks this row.
CREATE TABLE search_state (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    language {text} NOT NULL,
    next_number {int} NOT NULL,
    is_filled {bool} NOT NULL,
    PRIMARY KEY (project_id)
) {strict};

-- Records that have changed since they were indexed. `stamp` counts changes: a row that changed while it was being
-- indexed stays.
CREATE TABLE search_todo (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    record_id {uuid} NOT NULL,
    kind {int} NOT NULL,
    stamp {int} NOT NULL,
    PRIMARY KEY (project_id, record_id)
) {clustered};

-- What is in the index. A changed record gets a new number. `parent_id`: the entity of a comment, the conversation of a
-- message. `words`: as written, packed; from them follow the postings that have to go when the record goes.
CREATE TABLE search_docs (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number {int} NOT NULL,
    class {int} NOT NULL,
    record_id {uuid} NOT NULL,
    parent_id {uuid},
    space_id {uuid},
    author_id {uuid},
    created_at {time} NOT NULL,
    length {int} NOT NULL,
    words {bytes} NOT NULL,
    PRIMARY KEY (project_id, number)
) {clustered};
CREATE UNIQUE INDEX search_docs_record ON search_docs (project_id, record_id);
CREATE INDEX search_docs_parent ON search_docs (project_id, parent_id, number) WHERE parent_id IS NOT NULL;
CREATE INDEX search_docs_space ON search_docs (project_id, space_id, number) WHERE space_id IS NOT NULL;
CREATE INDEX search_docs_author ON search_docs (project_id, author_id, number) WHERE author_id IS NOT NULL;

-- The documents of a term, up to 128 in a block. `last`: the highest number in it; of the block that new documents are
-- added to the highest number there is.
CREATE TABLE search_blocks (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    term {text} NOT NULL,
    class {int} NOT NULL,
    last {int} NOT NULL,
    count {int} NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (project_id, term, class, last)
) {clustered};

-- The words of content that anybody may read, for corrections and prefixes. `letters`: 0 for what is never a correction.
CREATE TABLE search_words (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    section {int} NOT NULL,
    word {text} NOT NULL,
    frequency {int} NOT NULL,
    letters {int} NOT NULL,
    reversed {text} NOT NULL,
    PRIMARY KEY (project_id, section, word)
) {clustered};
CREATE INDEX search_words_start ON search_words (project_id, section, letters, word, frequency) WHERE letters > 0;
CREATE INDEX search_words_end ON search_words (project_id, section, letters, reversed, word, frequency) WHERE letters > 0;

-- How many documents there are that anybody may read, and their length together.
CREATE TABLE search_sections (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    section {int} NOT NULL,
    documents {int} NOT NULL,
    length {int} NOT NULL,
    PRIMARY KEY (project_id, section)
) {clustered};

INSERT INTO search_state (project_id, language, next_number, is_filled)
SELECT project_id, 'english', 1, FALSE FROM project_bundles WHERE bundle = 'ai-search';
