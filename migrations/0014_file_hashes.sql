-- SHA-256 of the object at `path`, in lower-case hex; NULL for files that were stored before. Those of
-- an image's variants are in its document `image`.
ALTER TABLE files ADD COLUMN sha256 {text};
