-- Functions that the embedded engine is given by the program, under the same names.

-- Which of the two small sigmas it is depends on what follows: here they are one.
CREATE FUNCTION text_contains(text, text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN strpos(replace(fold($1), 'ς', 'σ'), replace(fold($2), 'ς', 'σ')) > 0;

CREATE FUNCTION text_like(text, text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN $1 LIKE $2;

