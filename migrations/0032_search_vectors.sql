-- Search by meaning: vectors that a model outside makes from documents, where the operator has named one.

-- `vector_model`: the one that the vectors are of. `vectors_to`: documents up to this number have theirs; a changed record has a
-- new number. Until `vectors_claimed_until` one node makes the next ones.
ALTER TABLE search_state ADD COLUMN vector_model {text};
ALTER TABLE search_state ADD COLUMN vectors_to {int} NOT NULL DEFAULT 0;
ALTER TABLE search_state ADD COLUMN vectors_claimed_until {time};

-- One byte for each dimension, of each chunk of a document.
CREATE TABLE search_vectors (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number {int} NOT NULL,
    chunk {int} NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (project_id, number, chunk)
) {clustered};

-- One bit for each dimension: all chunks of up to 256 documents of a class, whose numbers begin with `block`.
CREATE TABLE search_vector_blocks (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    class {int} NOT NULL,
    block {int} NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (project_id, class, block)
) {clustered};
