-- Functions that the embedded engine is given by the program, under the same names.

CREATE FUNCTION text_contains(text, text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN strpos(fold($1), fold($2)) > 0;

CREATE FUNCTION text_like(text, text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN $1 LIKE $2;

