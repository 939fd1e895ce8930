-- Functions that the embedded engine is given by the program, under the same names.

-- Lower case for every alphabet; text columns are in byte order, where only ASCII has cases.
CREATE FUNCTION fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN lower($1 COLLATE "und-x-icu");

CREATE FUNCTION json_contains(json, text) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN $1::jsonb @> $2::jsonb;

-- Great-circle distance in metres between two places given as latitude and longitude.
CREATE FUNCTION distance(double precision, double precision, double precision, double precision)
    RETURNS double precision
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN 2 * 6371008.8 * asin(least(1.0, sqrt(
        power(sin(radians($3 - $1) / 2), 2)
        + cos(radians($1)) * cos(radians($3)) * power(sin(radians($4 - $2) / 2), 2))));

