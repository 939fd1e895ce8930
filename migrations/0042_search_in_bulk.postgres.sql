-- Each load of documents changes the frequency of most words, and the last block of most terms. A new version of a row that fits into its page needs no new
-- index entries.
ALTER TABLE search_words SET (fillfactor = 70);
ALTER TABLE search_blocks SET (fillfactor = 80);
-- To look for the project at each row took a third of the time to write a document. Who writes or empties an index locks its
-- row of search_state, which is gone when its project is.
ALTER TABLE search_docs DROP CONSTRAINT search_docs_project_id_fkey;
ALTER TABLE search_blocks DROP CONSTRAINT search_blocks_project_id_fkey;
ALTER TABLE search_words DROP CONSTRAINT search_words_project_id_fkey;
